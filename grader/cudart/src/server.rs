//! The device's end of the socket.

use crate::device::{Device, Request, answer};
use crate::frame::Frame;
use std::io::{ErrorKind, Read, Result, Write};

/// Serves one program until it ends or closes its connection.
///
/// # Errors
/// The program sent something that is not a request.
pub fn serve(stream: impl Read + Write, device: &mut impl Device) -> Result<()> {
    let mut stream = stream;
    loop {
        let served = Frame::read(&mut stream).and_then(|frame| {
            let request: Request = frame.value()?;
            answer(device, request, &mut stream)
        });
        match served {
            Err(e) if is_end(e.kind()) => return Ok(()),
            served => served?,
        }
    }
}

fn is_end(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}
