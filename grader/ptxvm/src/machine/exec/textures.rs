//! Textures and surfaces. Their texels lie in global memory, so that each access is checked and counted like any other one: a fetch that
//! filters is one load for each texel that it reads.

use super::memory::{AccessInfo, LaneFaults};
use crate::finding::{AccessKind, InvalidImage, OutsideImage};
use crate::image::fetch::{self, Coordinates, Detail, Request};
use crate::image::format::TexelBits;
use crate::image::layout::Image;
use crate::image::object::ImageObject;
use crate::image::surface::{Place, place};
use crate::image::tap::Tap;
use crate::isa::ir::Atom;
use crate::isa::names::{Address, Base, Marks, Pc, Reg32, Slot};
use crate::isa::texture::{
    Attribute, Fetch, LevelOfDetail, Query, SurfaceAccess, SurfaceOp, Texel, Texture,
};
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;
use crate::memory::lane_memory::LaneMemory;

impl<M: Monitor> Machine<'_, '_, M> {
    pub(super) fn texture(&mut self, pc: Pc, mask: u32, texture: &Texture) {
        match texture {
            Texture::Fetch(fetch) => self.fetch(pc, mask, fetch),
            Texture::Surface(access) => self.surface(pc, mask, access),
            Texture::Query(query) => self.query(pc, mask, query),
        }
    }

    /// Calls `visit` for each object that lanes of a mask name, with these lanes. Lanes that name none, or a texture where a surface is
    /// wanted, are left out: that is a finding.
    fn each_object(
        &mut self,
        pc: Pc,
        mask: u32,
        handles: &[u64; 32],
        wants_sampler: Option<bool>,
        mut visit: impl FnMut(&mut Self, &ImageObject, u32),
    ) {
        let objects = &self.env.memory.images;
        let mut left = mask;
        while left != 0 {
            let handle = handles[left.trailing_zeros() as usize];
            let here = lanes(left)
                .filter(|&lane| handles[lane] == handle)
                .fold(0, |all, lane| all | 1 << lane);
            left &= !here;
            let object = objects.get(handle).filter(|object| {
                wants_sampler.is_none_or(|wants| wants == object.sampler.is_some())
            });
            let Some(object) = object else {
                let invalid = InvalidImage {
                    handle,
                    surface: wants_sampler == Some(false),
                    is_other: objects.get(handle).is_some(),
                    destroyed: objects.was_destroyed(handle),
                };
                self.record(invalid, pc, here);
                continue;
            };
            visit(self, object, here);
        }
    }

    fn fetch(&mut self, pc: Pc, mask: u32, fetch: &Fetch) {
        let handles = *self.warp.registers.q(fetch.at.object);
        if let Some(resident) = fetch.resident {
            self.warp.registers.set_p(resident, mask, u32::MAX);
        }
        // What a lane without a texture gets.
        for slot in fetch.dst {
            self.set_lanes(slot, mask, &[0; 32]);
        }
        self.each_object(pc, mask, &handles, Some(true), |machine, object, here| {
            machine.fetch_from(pc, here, fetch, object);
        });
    }

    fn fetch_from(&mut self, pc: Pc, mask: u32, fetch: &Fetch, object: &ImageObject) {
        let ImageObject { image, sampler: Some(sampler) } = object else { return };
        let mut taps: [Vec<Tap>; 32] = Default::default();
        let mut outside = 0;
        for lane in lanes(mask) {
            taps[lane] = fetch::taps(image, sampler, &self.request(fetch, lane));
            // A texel by its indices is nowhere outside, and zero.
            outside |= u32::from(image.is_linear && taps[lane].is_empty()) << lane;
        }
        if outside != 0 {
            let coordinates = self.integers(&fetch.at, outside.trailing_zeros() as usize);
            self.record(OutsideImage::fetch(image, coordinates), pc, outside);
        }
        let mut texels: [Vec<Option<TexelBits>>; 32] = Default::default();
        let most = taps.iter().map(Vec::len).max().unwrap_or(0);
        for number in 0..most {
            let mut reading = 0;
            let mut addresses = [0; 32];
            for lane in lanes(mask) {
                let Some(tap) = taps[lane].get(number) else { continue };
                texels[lane].push(None);
                if let Some(texel) = tap.texel {
                    let level = image.level(tap.level);
                    addresses[lane] = level.address_of(texel, image.format.texel_bytes());
                    reading |= 1 << lane;
                }
            }
            if reading != 0 {
                self.read_texels(pc, reading, image, &addresses, |lane, bits| {
                    texels[lane][number] = Some(bits);
                });
            }
        }
        for lane in lanes(mask) {
            let (taps, texels) = (&taps[lane], &texels[lane]);
            let words = fetch::result(image.format, sampler, fetch.gathered, taps, texels);
            for (slot, word) in fetch.dst.into_iter().zip(words) {
                self.warp.registers.set_lane(slot, lane, word.into());
            }
        }
    }

    /// Reads one texel in each lane of a mask.
    fn read_texels(
        &mut self,
        pc: Pc,
        mask: u32,
        image: &Image,
        addresses: &[u64; 32],
        mut take: impl FnMut(usize, TexelBits),
    ) {
        let (size, unit) = (image.format.texel_bytes(), image.format.channel_bytes());
        let mut faults = LaneFaults::default();
        for lane in lanes(mask) {
            let memory = self.env.memory;
            // What is read where nothing can be: all ones, as by a load.
            let mut bits = [u32::MAX; 4];
            match (&memory).check(lane, addresses[lane], size, false) {
                Ok(place) => {
                    bits = [0; 4];
                    for at in (0..size).step_by(unit as usize) {
                        let (value, defined) = (&memory).get(lane, place + at as usize, unit);
                        bits[(at / 4) as usize] |= (value as u32) << (at % 4 * 8);
                        faults.undefined |= u32::from(!defined) << lane;
                    }
                }
                Err(fault) => faults.add(lane, fault),
            }
            take(lane, bits);
        }
        let info = AccessInfo::plain(pc, AccessKind::Read, size);
        self.accessed(info, Window::Global, mask, addresses, faults);
    }

    /// What a lane asks of a texture.
    fn request(&self, fetch: &Fetch, lane: usize) -> Request {
        let registers = &self.warp.registers;
        let float = |register: Reg32| f32::from_bits(registers.r(register)[lane]);
        let coordinates = if fetch.by_texel {
            Coordinates::Texel(self.integers(&fetch.at, lane))
        } else {
            Coordinates::Float(fetch.at.coordinates.map(float))
        };
        Request {
            geometry: fetch.at.geometry,
            coordinates,
            layer: fetch.at.layer.map_or(0, |layer| registers.r(layer)[lane]),
            detail: match fetch.level {
                LevelOfDetail::Base => Detail::Base,
                LevelOfDetail::Level(level) if fetch.by_texel => {
                    Detail::Level(registers.r(level)[lane] as i32 as f32)
                }
                LevelOfDetail::Level(level) => Detail::Level(float(level)),
                LevelOfDetail::Gradients(x, y) => Detail::Gradients(x.map(float), y.map(float)),
            },
            gathered: fetch.gathered,
        }
    }

    /// The coordinates of a lane, as integers.
    fn integers(&self, at: &Texel, lane: usize) -> [i32; 3] {
        at.coordinates.map(|register| self.warp.registers.r(register)[lane] as i32)
    }

    fn surface(&mut self, pc: Pc, mask: u32, access: &SurfaceAccess) {
        let handles = *self.warp.registers.q(access.at.object);
        if let SurfaceOp::Load(elements) = access.op {
            for &slot in &elements.slots[..elements.count.into()] {
                self.set_lanes(slot, mask, &[0; 32]);
            }
        }
        self.each_object(pc, mask, &handles, Some(false), |machine, object, here| {
            machine.access_surface(pc, here, access, &object.image);
        });
    }

    fn access_surface(&mut self, pc: Pc, mask: u32, access: &SurfaceAccess, image: &Image) {
        let (kind, bytes) = match access.op {
            SurfaceOp::Load(elements) => (AccessKind::Read, elements.size()),
            SurfaceOp::Store(elements) => (AccessKind::Write, elements.size()),
            SurfaceOp::StoreFormatted(_) => (AccessKind::Write, image.format.texel_bytes()),
            SurfaceOp::Reduce(_, ty, _) => (AccessKind::Atomic, ty.bytes()),
        };
        let counts_texels = matches!(access.op, SurfaceOp::StoreFormatted(_));
        let (mut inside, mut outside) = (0u32, 0u32);
        let mut addresses = [0; 32];
        for lane in lanes(mask) {
            let mut at = self.integers(&access.at, lane).map(i64::from);
            if counts_texels {
                at[0] *= i64::from(bytes);
            }
            let layer = access.at.layer.map_or(0, |layer| self.warp.registers.r(layer)[lane]);
            match place(image, access.at.geometry, at, layer, bytes, access.outside) {
                Place::At(address) => {
                    addresses[lane] = address;
                    inside |= 1 << lane;
                }
                Place::Nowhere => {}
                Place::Outside => outside |= 1 << lane,
            }
        }
        if outside != 0 {
            let lane = outside.trailing_zeros() as usize;
            let layer = access.at.layer.map(|layer| self.warp.registers.r(layer)[lane]);
            let coordinates = self.integers(&access.at, lane);
            self.record(
                OutsideImage::surface(image, kind, &access.at, coordinates, layer),
                pc,
                outside,
            );
        }
        if inside == 0 {
            return;
        }
        let window = Window::Global;
        match access.op {
            SurfaceOp::Load(elements) => {
                let faults = self.load_from(inside, window, &addresses, &elements);
                let info = AccessInfo::plain(pc, kind, bytes);
                self.accessed(info, window, inside, &addresses, faults);
            }
            SurfaceOp::Store(elements) => {
                let faults = self.store_to(inside, window, &addresses, &elements);
                let info =
                    AccessInfo { stored: Some(elements), ..AccessInfo::plain(pc, kind, bytes) };
                self.accessed(info, window, inside, &addresses, faults);
            }
            SurfaceOp::StoreFormatted(slots) => {
                self.store_formatted(pc, inside, image, &addresses, slots);
            }
            SurfaceOp::Reduce(op, ty, b) => {
                let base = Base::Reg64(access.at.object);
                let address =
                    Address { window: Some(window), base, offset: 0, marks: Marks::STRONG };
                let atom = Atom { op, ty, address, dst: Slot::Sink, b, c: Slot::Sink };
                self.atomic_in(pc, inside, window, &addresses, &atom);
            }
        }
    }

    fn store_formatted(
        &mut self,
        pc: Pc,
        mask: u32,
        image: &Image,
        addresses: &[u64; 32],
        slots: [Slot; 4],
    ) {
        let format = image.format;
        let unit = format.channel_bytes();
        let mut faults = LaneFaults::default();
        for lane in lanes(mask) {
            let mut memory = self.env.memory;
            match (&memory).check(lane, addresses[lane], format.texel_bytes(), true) {
                Ok(place) => {
                    for (channel, slot) in
                        slots.into_iter().take(format.channels() as usize).enumerate()
                    {
                        let word = self.warp.registers.lane(slot, lane) as u32;
                        let at = place + channel * unit as usize;
                        (&mut memory).put(lane, at, unit, format.encode(word).into());
                    }
                }
                Err(fault) => faults.add(lane, fault),
            }
        }
        let info = AccessInfo::plain(pc, AccessKind::Write, format.texel_bytes());
        self.accessed(info, Window::Global, mask, addresses, faults);
    }

    fn query(&mut self, pc: Pc, mask: u32, query: &Query) {
        let handles = *self.warp.registers.q(query.object);
        self.set_lanes(query.dst, mask, &[0; 32]);
        self.each_object(pc, mask, &handles, None, |machine, object, here| {
            for lane in lanes(here) {
                let level = query.level.map_or(0, |level| machine.warp.registers.r(level)[lane]);
                let value = attribute(object, query.attribute, level as usize);
                machine.warp.registers.set_lane(query.dst, lane, value.into());
            }
        });
    }
}

/// The value of an attribute, as an H100 gives it: layers count as the next dimension, and those of a cube map as a texture in sixes.
fn attribute(object: &ImageObject, attribute: Attribute, level: usize) -> u32 {
    let ImageObject { image, sampler } = object;
    let [width, height, depth] = image.level(level).extent;
    let is_texture = sampler.is_some();
    match attribute {
        Attribute::Width => width,
        Attribute::Height if image.dimensions == 1 && image.is_layered => depth,
        Attribute::Height if image.dimensions == 1 && !is_texture => 0,
        Attribute::Height => height,
        Attribute::Depth if image.is_cube && is_texture && depth == 6 => 0,
        Attribute::Depth if image.is_cube && is_texture => depth / 6,
        Attribute::Depth if image.dimensions == 3 || image.dimensions == 2 && image.is_layered => {
            depth
        }
        Attribute::Depth => 0,
    }
}
