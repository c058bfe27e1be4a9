use super::*;
use crate::client::Location;

unsafe extern "C" {
    fn cudaMallocManaged(to: *mut u64, bytes: usize, flags: c_uint) -> u32;
    safe fn cudaMemAdvise(address: u64, bytes: usize, advice: c_int, of: Location) -> u32;
    safe fn cudaMemPrefetchAsync(
        address: u64,
        bytes: usize,
        to: Location,
        flags: c_uint,
        stream: u64,
    ) -> u32;
    fn cudaMemRangeGetAttribute(
        to: *mut [c_int; 3],
        size: usize,
        attribute: c_int,
        address: u64,
        bytes: usize,
    ) -> u32;
}

const DEVICE: Location = Location { kind: 1, id: 0 };
const HOST: Location = Location { kind: 2, id: 0 };

/// As an H200 answers.
#[test]
fn programs_get_their_advice_back() {
    let program = Program::new();
    let mut managed = 0;
    // SAFETY: the address of a variable.
    assert_eq!(unsafe { cudaMallocManaged(&raw mut managed, 4096, 1) }, SUCCESS);
    let ask = |size, attribute, bytes| {
        let mut values = [9; 3];
        // SAFETY: no more than three values are written.
        let code =
            unsafe { cudaMemRangeGetAttribute(&raw mut values, size, attribute, managed, bytes) };
        (code, values)
    };
    for (attribute, value) in [(1, 0), (2, -2), (3, -2), (4, -2), (5, 0), (6, -2), (7, 0), (8, -2)]
    {
        assert_eq!(ask(4, attribute, 4096), (SUCCESS, [value, 9, 9]), "{attribute}");
    }
    for (advice, of) in [(1, DEVICE), (3, DEVICE), (5, DEVICE), (5, HOST)] {
        assert_eq!(cudaMemAdvise(managed, 4096, advice, of), SUCCESS);
    }
    assert_eq!(cudaMemPrefetchAsync(managed, 2048, HOST, 0, 0), SUCCESS);
    assert_eq!(ask(4, 1, 4096), (SUCCESS, [1, 9, 9]));
    assert_eq!(ask(4, 2, 4096), (SUCCESS, [0, 9, 9]));
    assert_eq!(ask(12, 3, 4096), (SUCCESS, [0, -1, -2]));
    assert_eq!((ask(4, 4, 2048), ask(4, 4, 4096)), ((SUCCESS, [-1, 9, 9]), (SUCCESS, [-2, 9, 9])));
    assert_eq!(cudaMemAdvise(managed, 1024, 2, DEVICE), SUCCESS);
    assert_eq!((ask(4, 1, 4096).1[0], ask(4, 1, 1024).1[0]), (0, 0));
    for (size, attribute, bytes) in
        [(8, 1, 4096), (4, 77, 4096), (4, 1, 0), (4, 1, 8192), (6, 3, 4096)]
    {
        assert_eq!(ask(size, attribute, bytes).0, INVALID_VALUE, "{size} {attribute} {bytes}");
    }
    assert_eq!(cudaMemAdvise(managed, 4096, 7, DEVICE), INVALID_VALUE);
    assert_eq!(cudaMemAdvise(managed, 4096, 3, Location { id: 1, ..DEVICE }), INVALID_DEVICE);
    assert_eq!(cudaMemAdvise(program.memory(16), 16, 1, DEVICE), INVALID_VALUE);
    assert_eq!(cudaFree(managed), SUCCESS);
}
