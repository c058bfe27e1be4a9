//! Memory pools: what is allocated from each, and the attributes that the program has set.

use super::Client;
use std::collections::BTreeMap;

/// A memory pool.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// The attributes that can be set, by their codes. They change when memory goes back to the system, which happens at once here.
    pub attributes: BTreeMap<u32, u64>,
    /// The bytes that are allocated now, and the most so far.
    pub used: u64,
    pub most: u64,
}

/// The pools of the device.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pub all: BTreeMap<u64, Pool>,
    /// The device's own pool, and that from which `cudaMallocAsync` allocates, once they are asked for.
    default: Option<u64>,
    pub current: Option<u64>,
    /// The pool and the bytes of each allocation.
    allocations: BTreeMap<u64, (u64, u64)>,
}

impl Client {
    /// Creates a pool.
    pub fn new_pool(&mut self) -> u64 {
        let pool = self.fresh_number();
        self.pools.all.insert(pool, Pool::default());
        pool
    }

    /// The device's own pool.
    pub fn default_pool(&mut self) -> u64 {
        if let Some(pool) = self.pools.default {
            return pool;
        }
        let pool = self.new_pool();
        self.pools.default = Some(pool);
        pool
    }

    /// The pool from which `cudaMallocAsync` allocates.
    pub fn current_pool(&mut self) -> u64 {
        self.pools.current.unwrap_or_else(|| self.default_pool())
    }

    /// Notes that memory was allocated from a pool.
    pub fn allocated_from(&mut self, pool: u64, address: u64, bytes: u64) {
        if let Some(of) = self.pools.all.get_mut(&pool) {
            of.used += bytes;
            of.most = of.most.max(of.used);
            self.pools.allocations.insert(address, (pool, bytes));
        }
    }

    /// Notes that memory was freed, which may be of a pool.
    pub fn freed(&mut self, address: u64) {
        let found = self.pools.allocations.remove(&address);
        if let Some((pool, bytes)) = found
            && let Some(of) = self.pools.all.get_mut(&pool)
        {
            of.used -= bytes;
        }
    }
}
