//! CUDA arrays, textures and surfaces on the virtual machine. An array is a buffer of its own for each level, with its rows one after
//! another; a GPU's order of texels is not visible to programs.

use super::{VmDevice, outside};
use crate::device::{Answer, Device};
use crate::error::CudaError;
use crate::images::{ArrayShape, ImageObjectDesc, ImageSource, Region, TextureDesc};
use ptxvm::image::format::Format;
use ptxvm::image::layout::{Image, Level};
use ptxvm::image::object::ImageObject;
use ptxvm::image::sampler::{AddressMode, Sampler};
use std::collections::BTreeMap;

/// The arrays of a device, by number.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    arrays: BTreeMap<u64, Array>,
    last: u64,
}

#[derive(Clone, Debug)]
struct Array {
    image: Image,
    /// The mipmapped array that it is a level of, if it is one.
    parent: Option<u64>,
}

/// The numbers of arrays count up from here, so that none is a small one by mistake.
const FIRST: u64 = 0xA_0000;

impl Arrays {
    fn add(&mut self, array: Array) -> u64 {
        self.last = self.last.max(FIRST) + 1;
        self.arrays.insert(self.last, array);
        self.last
    }

    fn get(&self, number: u64) -> Answer<&Array> {
        self.arrays.get(&number).ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// The addresses of the rows of a region.
    fn rows(&self, region: Region, extent: [u64; 3]) -> Answer<Rows> {
        let [bytes, rows, slices] = extent;
        let (start, pitches) = match region {
            Region::Linear { address, pitches } => (address, pitches),
            Region::Array { array, origin } => {
                let image = &self.get(array)?.image;
                let level = image.level(0);
                let [width, height, depth] = level.extent.map(u64::from);
                let sizes = [width * u64::from(image.format.texel_bytes()), height, depth];
                let fits = (0..3)
                    .all(|i| origin[i].checked_add(extent[i]).is_some_and(|end| end <= sizes[i]));
                if !fits {
                    return Err(CudaError::INVALID_VALUE);
                }
                let pitches = [level.row_bytes, level.slice_bytes];
                (
                    level.address + origin[0] + origin[1] * pitches[0] + origin[2] * pitches[1],
                    pitches,
                )
            }
        };
        // Rows that overlap would let a few bytes stand for any number of rows.
        let overlap = rows > 1 && pitches[0] < bytes || slices > 1 && pitches[1] < bytes;
        if overlap || bytes.checked_mul(rows).and_then(|all| all.checked_mul(slices)).is_none() {
            return Err(CudaError::INVALID_VALUE);
        }
        Ok(Rows { start, pitches, extent })
    }
}

/// The rows of a region.
#[derive(Clone, Copy)]
struct Rows {
    start: u64,
    pitches: [u64; 2],
    extent: [u64; 3],
}

impl Rows {
    fn addresses(self) -> impl Iterator<Item = u64> {
        let [_, rows, slices] = self.extent;
        (0..slices).flat_map(move |slice| {
            (0..rows).map(move |row| {
                let offset = row.wrapping_mul(self.pitches[0]);
                self.start.wrapping_add(slice.wrapping_mul(self.pitches[1])).wrapping_add(offset)
            })
        })
    }
}

impl VmDevice {
    pub(super) fn make_array(&mut self, shape: &ArrayShape) -> Answer<u64> {
        let format = shape.format.format().ok_or(CudaError::INVALID_CHANNEL_DESCRIPTOR)?;
        if !shape.is_valid() {
            return Err(CudaError::INVALID_VALUE);
        }
        let mut levels = Vec::new();
        for number in 0..shape.levels {
            let extent = shape.level_extent(number);
            let level = self.make_level(format, extent);
            match level {
                Ok(level) => levels.push(level),
                Err(error) => {
                    for level in levels {
                        self.free(level.address)?;
                    }
                    return Err(error);
                }
            }
        }
        let image = Image {
            format,
            levels,
            dimensions: shape.dimensions(),
            is_layered: shape.is_layered(),
            is_cube: shape.flags & crate::images::CUBEMAP != 0,
            is_linear: false,
        };
        Ok(self.arrays.add(Array { image, parent: None }))
    }

    fn make_level(&mut self, format: Format, extent: [u64; 3]) -> Answer<Level> {
        let too_large = CudaError::INVALID_VALUE;
        let [width, height, depth] = extent;
        let row_bytes = width.checked_mul(format.texel_bytes().into()).ok_or(too_large)?;
        let slice_bytes = row_bytes.checked_mul(height).ok_or(too_large)?;
        let bytes = slice_bytes.checked_mul(depth).ok_or(too_large)?;
        let mut texels = [0; 3];
        for (texels, size) in texels.iter_mut().zip(extent) {
            *texels = u32::try_from(size).map_err(|_| too_large)?;
        }
        Ok(Level { address: self.alloc(bytes)?, extent: texels, row_bytes, slice_bytes })
    }

    pub(super) fn drop_array(&mut self, number: u64) -> Answer<()> {
        let array = self.arrays.get(number)?;
        if array.parent.is_some() {
            return Err(CudaError::INVALID_RESOURCE_HANDLE);
        }
        for level in array.image.levels.clone() {
            self.free(level.address)?;
        }
        self.arrays.arrays.retain(|&other, array| other != number && array.parent != Some(number));
        Ok(())
    }

    pub(super) fn level_of(&mut self, number: u64, level: u32) -> Answer<u64> {
        let array = self.arrays.get(number)?;
        let found = array.image.levels.get(level as usize).copied();
        let levels = vec![found.ok_or(CudaError::INVALID_VALUE)?];
        let known = |(_, other): &(&u64, &Array)| {
            other.parent == Some(number) && other.image.levels == levels
        };
        if let Some((&known, _)) = self.arrays.arrays.iter().find(known) {
            return Ok(known);
        }
        let image = Image { levels, ..array.image.clone() };
        let level = Array { image, parent: Some(number) };
        Ok(self.arrays.add(level))
    }

    pub(super) fn write_rows(&mut self, to: Region, extent: [u64; 3], bytes: &[u8]) -> Answer<()> {
        let rows = self.arrays.rows(to, extent)?;
        if extent.iter().product::<u64>() != bytes.len() as u64 {
            return Err(CudaError::INVALID_VALUE);
        }
        for (address, row) in rows.addresses().zip(bytes.chunks((extent[0] as usize).max(1))) {
            self.memory.write(address, row).map_err(outside)?;
        }
        Ok(())
    }

    pub(super) fn read_rows(&mut self, from: Region, extent: [u64; 3]) -> Answer<Vec<u8>> {
        let rows = self.arrays.rows(from, extent)?;
        let mut bytes = Vec::new();
        for address in rows.addresses() {
            self.check(address, extent[0])?;
            bytes.extend(self.memory.read(address, extent[0] as usize).map_err(outside)?);
        }
        Ok(bytes)
    }

    pub(super) fn copy_rows(&mut self, to: Region, from: Region, extent: [u64; 3]) -> Answer<()> {
        let (to, from) = (self.arrays.rows(to, extent)?, self.arrays.rows(from, extent)?);
        for (to, from) in to.addresses().zip(from.addresses()) {
            self.copy(to, from, extent[0])?;
        }
        Ok(())
    }

    pub(super) fn make_object(&mut self, object: &ImageObjectDesc) -> Answer<u64> {
        let image = self.image(object)?;
        let sampler = match &object.texture {
            Some(texture) => Some(sampler(texture, image.format)?),
            None => None,
        };
        Ok(self.memory.create_image_object(ImageObject { image, sampler }))
    }

    fn image(&self, object: &ImageObjectDesc) -> Answer<Image> {
        let (address, format, extent, pitch) = match object.source {
            // A surface can be made of any array: measured on an H100, whatever `cudaArraySurfaceLoadStore` is for.
            ImageSource::Array { array } => return Ok(self.arrays.get(array)?.image.clone()),
            ImageSource::Linear { address, format, bytes } => {
                let format = format.format().ok_or(CudaError::INVALID_CHANNEL_DESCRIPTOR)?;
                (address, format, [bytes / u64::from(format.texel_bytes()), 1], bytes)
            }
            ImageSource::Pitched { address, format, extent, pitch } => {
                let format = format.format().ok_or(CudaError::INVALID_CHANNEL_DESCRIPTOR)?;
                (address, format, extent, pitch)
            }
        };
        let is_linear = matches!(object.source, ImageSource::Linear { .. });
        let alignment = if is_linear { LINEAR_ALIGNMENT } else { PITCH_ALIGNMENT };
        let row = extent[0].checked_mul(format.texel_bytes().into());
        let is_short = row.is_none_or(|row| row > pitch);
        let is_uneven = !address.is_multiple_of(alignment)
            || !is_linear && !pitch.is_multiple_of(PITCH_ALIGNMENT);
        let texels = extent.map(|size| u32::try_from(size).unwrap_or(0));
        if object.texture.is_none() || is_short || is_uneven || texels.contains(&0) {
            return Err(CudaError::INVALID_VALUE);
        }
        let level = Level {
            address,
            extent: [texels[0], texels[1], 1],
            row_bytes: pitch,
            slice_bytes: pitch * extent[1],
        };
        Ok(Image {
            format,
            levels: vec![level],
            dimensions: if is_linear { 1 } else { 2 },
            is_layered: false,
            is_cube: false,
            is_linear,
        })
    }
}

/// What the address of linear memory is a multiple of: `textureAlignment`.
const LINEAR_ALIGNMENT: u64 = 512;
/// What address and pitch of memory with rows are multiples of: `texturePitchAlignment`.
const PITCH_ALIGNMENT: u64 = 32;

/// How a texture of this format is read.
fn sampler(texture: &TextureDesc, format: Format) -> Answer<Sampler> {
    let is_linear = texture.filter_mode == 1;
    let reads_normalized = texture.read_mode == 1 && !format.is_float();
    let is_known = texture.filter_mode <= 1
        && texture.read_mode <= 1
        && texture.mipmap_filter_mode <= 1
        && texture.address_mode.iter().all(|&mode| mode <= 3);
    if !is_known {
        return Err(CudaError::INVALID_VALUE);
    }
    if reads_normalized && format.bits() == 32 {
        return Err(CudaError::INVALID_NORM_SETTING);
    }
    if is_linear && !format.is_float() && !reads_normalized {
        return Err(CudaError::INVALID_FILTER_SETTING);
    }
    if texture.srgb != 0 || texture.seamless_cubemap != 0 {
        return Err(CudaError::NOT_SUPPORTED);
    }
    Ok(Sampler {
        address: texture.address_mode.map(|mode| match mode {
            0 => AddressMode::Wrap,
            1 => AddressMode::Clamp,
            2 => AddressMode::Mirror,
            _ => AddressMode::Border,
        }),
        is_linear,
        is_normalized: texture.normalized_coords != 0,
        reads_normalized,
        border: texture.border_color,
        interpolates_levels: texture.mipmap_filter_mode == 1,
        level_bias: texture.mipmap_level_bias,
        level_range: [texture.min_mipmap_level_clamp, texture.max_mipmap_level_clamp],
    })
}
