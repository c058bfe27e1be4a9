//! The shape of clusters, and which blocks belong to one.

use crate::error::LaunchError;
use crate::lanes::coordinates;

/// Blocks of a cluster at most, which not every device takes (CUDA C++ Programming Guide, "Thread Block Clusters").
const MOST_BLOCKS: u64 = 16;

/// How many blocks a cluster has in x, y and z.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterShape {
    pub size: [u32; 3],
    /// The kernel or the launch asks for it.
    pub explicit: bool,
}

impl ClusterShape {
    /// Of what the kernel says, and an attribute of the launch.
    ///
    /// # Errors
    /// Both say something else, or the grid does not consist of such clusters, or they are too large.
    pub fn new(
        kernel: Option<[u32; 3]>,
        launch: Option<[u32; 3]>,
        grid: [u32; 3],
    ) -> Result<Self, LaunchError> {
        let error = |message: String| Err(LaunchError::Configuration(message));
        if let (Some(kernel), Some(launch)) = (kernel, launch)
            && kernel != launch
        {
            return error(format!(
                "the kernel is compiled for clusters of {}, and the launch asks for clusters of {}",
                extents(kernel),
                extents(launch)
            ));
        }
        let Some(size) = kernel.or(launch) else {
            return Ok(Self { size: [1; 3], explicit: false });
        };
        let shape = Self { size, explicit: true };
        if size.contains(&0) || shape.blocks() > MOST_BLOCKS {
            return error(format!(
                "clusters of {}: a cluster has 1 to {MOST_BLOCKS} blocks",
                extents(size)
            ));
        }
        if (0..3).any(|axis| !grid[axis].is_multiple_of(size[axis])) {
            return error(format!(
                "the grid of {} cannot be divided into clusters of {}",
                extents(grid),
                extents(size)
            ));
        }
        Ok(shape)
    }

    /// Blocks of a cluster.
    pub fn blocks(self) -> u64 {
        self.size.iter().fold(1, |all, &size| all.saturating_mul(size.into()))
    }

    /// Clusters in x, y and z.
    pub fn clusters(self, grid: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| grid[axis] / self.size[axis])
    }

    /// The coordinates of a block in its cluster.
    pub fn in_cluster(self, block: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| block[axis] % self.size[axis])
    }

    /// The coordinates of a block's cluster.
    pub fn of_block(self, block: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| block[axis] / self.size[axis])
    }

    /// The index of the block that comes at a position, if clusters come one after another.
    pub fn block_at(self, position: u64, grid: [u32; 3]) -> u64 {
        if self.blocks() == 1 {
            return position;
        }
        // There are fewer blocks in y and z than 2^16 each, and a cluster has few: each number fits.
        let clusters = self.clusters(grid);
        let (cluster, rank) = (position / self.blocks(), (position % self.blocks()) as u32);
        let [width, height] = [clusters[0], clusters[1]].map(u64::from);
        let cluster = [cluster % width, cluster / width % height, cluster / width / height];
        let inside = coordinates(rank, self.size);
        let [x, y, z]: [u64; 3] = std::array::from_fn(|axis| {
            cluster[axis] * u64::from(self.size[axis]) + u64::from(inside[axis])
        });
        (z * u64::from(grid[1]) + y) * u64::from(grid[0]) + x
    }
}

fn extents([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z} blocks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_cluster_by_cluster() {
        let shape = ClusterShape::new(Some([2, 2, 1]), None, [4, 2, 2]).unwrap();
        let order: Vec<u64> = (0..16).map(|position| shape.block_at(position, [4, 2, 2])).collect();
        assert_eq!(order, [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
        assert_eq!(
            (shape.in_cluster([3, 1, 1]), shape.of_block([3, 1, 1])),
            ([1, 1, 0], [1, 0, 1])
        );
        assert_eq!(shape.clusters([4, 2, 2]), [2, 1, 2]);
    }

    #[test]
    fn shapes_fit_the_grid_and_each_other() {
        let why = |kernel, launch, grid| match ClusterShape::new(kernel, launch, grid) {
            Err(LaunchError::Configuration(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(why(Some([2, 1, 1]), None, [3, 1, 1]).contains("cannot be divided"));
        assert!(why(None, Some([17, 1, 1]), [17, 1, 1]).contains("1 to 16"));
        assert!(why(None, Some([0, 1, 1]), [4, 1, 1]).contains("1 to 16"));
        assert!(why(Some([2, 1, 1]), Some([4, 1, 1]), [4, 1, 1]).contains("compiled for"));
        assert!(!ClusterShape::new(None, None, [3, 1, 1]).unwrap().explicit);
    }
}
