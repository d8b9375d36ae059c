//! Numbers out of bytes. It refuses nothing: where the bytes end, zeros follow.

/// Bytes from which choices are taken.
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next byte.
    pub(crate) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// The next four bytes as a number.
    pub(crate) fn number(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// One of the choices, which must not be empty.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }

    /// Whether bytes are left.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is left.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.0
    }
}
