//! Gzip without compression: stored blocks in a valid frame. It saves no byte; it is there to be
//! decoded.

/// A gzip stream that grows with the body, each part readable as soon as it is written.
#[derive(Debug, Default)]
pub(crate) struct Gzip {
    checksum: Crc,
    length: u32,
    begun: bool,
}

const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
const BLOCK_BYTES_MAX: usize = 0xffff;

impl Gzip {
    /// The next bytes of the body.
    pub(crate) fn part(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + 32);
        if !self.begun {
            self.begun = true;
            out.extend_from_slice(&HEADER);
        }
        for block in bytes.chunks(BLOCK_BYTES_MAX) {
            push_block(&mut out, 0, block);
        }
        self.checksum.add(bytes);
        self.length = self.length.wrapping_add(bytes.len() as u32);
        out
    }

    /// The last block and the trailer.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let mut out = self.part(&[]);
        push_block(&mut out, 1, &[]);
        out.extend_from_slice(&self.checksum.value().to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out
    }
}

fn push_block(out: &mut Vec<u8>, last: u8, block: &[u8]) {
    let length = block.len() as u16;
    out.push(last);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(block);
}

/// CRC-32 as in RFC 1952, kept inverted.
#[derive(Debug)]
struct Crc(u32);

impl Default for Crc {
    fn default() -> Crc {
        Crc(u32::MAX)
    }
}

impl Crc {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 ^= u32::from(*byte);
            for _ in 0..8 {
                let carry = self.0 & 1;
                self.0 = (self.0 >> 1) ^ (0xedb8_8320 * carry);
            }
        }
    }

    fn value(&self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_the_standard() {
        let mut crc = Crc::default();
        crc.add(b"123456789");
        assert_eq!(crc.value(), 0xcbf4_3926);
    }

    #[test]
    fn a_long_body_is_split_into_blocks() {
        let mut gzip = Gzip::default();
        let body = vec![b'a'; 70_000];
        let mut coded = gzip.part(&body);
        coded.extend(gzip.finish());
        assert_eq!(coded.len(), 10 + 5 + 65_535 + 5 + 4_465 + 5 + 8);
        assert_eq!(coded[coded.len() - 4..], 70_000_u32.to_le_bytes());
    }
}
