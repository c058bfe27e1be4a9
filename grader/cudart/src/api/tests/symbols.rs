use super::*;

unsafe extern "C" {
    fn cudaMemcpyToSymbol(
        symbol: *const c_void,
        from: u64,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) -> u32;
    fn cudaMemcpyFromSymbol(
        to: u64,
        symbol: *const c_void,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) -> u32;
    fn cudaGetSymbolAddress(to: *mut u64, symbol: *const c_void) -> u32;
    fn cudaGetSymbolSize(to: *mut usize, symbol: *const c_void) -> u32;
    safe fn cudaMemset(address: u64, value: c_int, bytes: usize) -> u32;
}

fn write(which: usize, values: &[i32], offset: usize, kind: c_int) -> u32 {
    let from = values.as_ptr() as u64;
    // SAFETY: so many bytes lie there.
    unsafe { cudaMemcpyToSymbol(host(which), from, size_of_val(values), offset, kind) }
}

fn read(which: usize, offset: usize, kind: c_int) -> (u32, i32) {
    let mut value = -1;
    let to = (&raw mut value) as u64;
    // SAFETY: there is room for 4 bytes.
    let code = unsafe { cudaMemcpyFromSymbol(to, host(which), 4, offset, kind) };
    (code, value)
}

#[test]
fn variables() {
    let program = Program::new();
    for (name, code, expected) in [
        ("constant", write(TABLE, &[9], 8, HOST_TO_DEVICE), SUCCESS),
        ("variable", write(COUNTER, &[8], 0, DEFAULT), SUCCESS),
        ("past the end", write(TABLE, &[1, 2], 12, HOST_TO_DEVICE), INVALID_VALUE),
        ("all past the end", write(COUNTER, &[1], 4, HOST_TO_DEVICE), INVALID_VALUE),
        ("far past the end", write(COUNTER, &[1], usize::MAX, HOST_TO_DEVICE), INVALID_VALUE),
        ("not registered", write(UNKNOWN, &[1], 0, HOST_TO_DEVICE), INVALID_SYMBOL),
        ("a kernel", write(FILL, &[1], 0, HOST_TO_DEVICE), INVALID_SYMBOL),
        ("not in the module", write(MISSING, &[1], 0, HOST_TO_DEVICE), INVALID_SYMBOL),
        ("wrong way", write(COUNTER, &[1], 0, DEVICE_TO_HOST), INVALID_MEMCPY_DIRECTION),
        ("within the host", write(COUNTER, &[1], 0, HOST_TO_HOST), INVALID_MEMCPY_DIRECTION),
        ("no such way", write(COUNTER, &[1], 0, 7), INVALID_MEMCPY_DIRECTION),
    ] {
        assert_eq!(code, expected, "{name}");
    }
    for bytes in [5, usize::MAX / 2, usize::MAX] {
        // SAFETY: nothing is read or written, since there are only four bytes.
        let codes = unsafe {
            let (to, symbol) = (cudaMemcpyToSymbol, cudaMemcpyFromSymbol);
            [to(host(COUNTER), 8, bytes, 0, DEFAULT), symbol(8, host(COUNTER), bytes, 0, DEFAULT)]
        };
        assert_eq!(codes, [INVALID_VALUE; 2], "{bytes}");
    }
    assert_eq!(read(TABLE, 8, DEVICE_TO_HOST), (SUCCESS, 9));
    assert_eq!(read(COUNTER, 0, DEFAULT), (SUCCESS, 8));
    assert_eq!(read(TABLE, 16, DEVICE_TO_HOST), (INVALID_VALUE, -1));
    assert_eq!(read(TABLE, 0, HOST_TO_DEVICE), (INVALID_MEMCPY_DIRECTION, -1));
    assert_eq!(read(UNKNOWN, 0, DEVICE_TO_HOST), (INVALID_SYMBOL, -1));
    let x = program.memory(4096);
    assert_eq!(program.launch(SHARED, [1; 3], [4, 1, 1], 16, x), SUCCESS);
    assert_eq!(program.read(x), [9, 10, 17, 12]);
}

#[test]
fn questions_about_variables() {
    let program = Program::new();
    let size = |which| {
        let mut size = 0;
        // SAFETY: the address of a variable.
        let code = unsafe { cudaGetSymbolSize(&raw mut size, host(which)) };
        (code, size)
    };
    assert_eq!((size(TABLE), size(COUNTER)), ((SUCCESS, 16), (SUCCESS, 4)));
    assert_eq!((size(UNKNOWN), size(MISSING)), ((INVALID_SYMBOL, 0), (INVALID_SYMBOL, 0)));
    let address = |which| {
        let mut address = 0;
        // SAFETY: the address of a variable.
        let code = unsafe { cudaGetSymbolAddress(&raw mut address, host(which)) };
        (code, address)
    };
    assert_eq!(address(UNKNOWN), (INVALID_SYMBOL, 0));
    let (code, counter) = address(COUNTER);
    assert_eq!((code, program.read(counter)), (SUCCESS, [5]));
    assert_eq!(cudaFree(counter), INVALID_VALUE, "it is the module's");
    assert_eq!(program.read(counter), [5]);
    // A constant has an address too, by which copies read and write it.
    assert_eq!(write(TABLE, &[1, 2, 3, 4], 0, HOST_TO_DEVICE), SUCCESS);
    let (code, table) = address(TABLE);
    assert_eq!((code, program.read(table)), (SUCCESS, [1, 2, 3, 4]));
    assert_eq!(
        (cudaMemset(table + 4, 0, 8), read(TABLE, 8, DEVICE_TO_HOST)),
        (SUCCESS, (SUCCESS, 0))
    );
    assert_eq!(program.read(table), [1, 0, 0, 4]);
    assert_eq!(cudaMemset(table + 4, 0, 16), INVALID_VALUE);
}
