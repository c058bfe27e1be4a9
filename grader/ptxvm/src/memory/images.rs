//! The texture and surface objects of a device. Their texels lie in its buffers.

use super::Memory;
use crate::image::object::ImageObject;

impl Memory {
    /// Makes a texture or surface object, and returns the handle that kernels get. Its texels are read and written where its image says;
    /// after that memory is freed, each access is a finding.
    pub fn create_image_object(&mut self, object: ImageObject) -> u64 {
        self.images.add(object)
    }

    /// Destroys an object; false if there is none with this handle.
    pub fn destroy_image_object(&mut self, handle: u64) -> bool {
        self.images.remove(handle)
    }
}
