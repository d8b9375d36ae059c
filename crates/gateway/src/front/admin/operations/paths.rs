//! Finding an operation by its path. It refuses to guess: a segment that is none is none.

use http::Method;

use super::{OPERATIONS, Op, Operation, Verb};

/// What method and path (behind the base, without a slash in front) ask for, with the segments that
/// stand for names.
pub(in crate::front) fn find(
    method: &Method,
    path: &str,
) -> Result<(&'static Operation, Vec<String>), Option<String>> {
    let mut allowed: Vec<&str> = Vec::new();
    for operation in &OPERATIONS {
        let Some(names) = matched(operation.path, path) else { continue };
        let verb = operation.verb;
        let looks = *method == Method::HEAD && verb == Verb::Get;
        if verb.method() == *method || looks {
            return Ok((operation, names));
        }
        allowed.push(verb.name());
        if verb == Verb::Get {
            allowed.push("HEAD");
        }
    }
    Err((!allowed.is_empty()).then(|| allowed.join(", ")))
}

fn matched(pattern: &str, path: &str) -> Option<Vec<String>> {
    let (mut wanted, mut given) = (pattern.trim_start_matches('/').split('/'), path.split('/'));
    let mut names = Vec::new();
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(names),
            (Some(name), Some(segment)) if name.starts_with('{') && !segment.is_empty() => {
                names.push(crate::front::route::decoded(segment));
            }
            (Some(wanted), Some(segment)) if wanted == segment => {}
            (Some(_), Some(_) | None) | (None, Some(_)) => return None,
        }
    }
}

impl Verb {
    pub(in crate::front::admin) const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    const fn method(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Post => Method::POST,
            Self::Put => Method::PUT,
            Self::Patch => Method::PATCH,
            Self::Delete => Method::DELETE,
        }
    }
}

impl Op {
    /// Its name in the document.
    pub(in crate::front::admin) fn id(self) -> String {
        let name = format!("{self:?}");
        let (first, rest) = name.split_at(1);
        format!("{}{rest}", first.to_ascii_lowercase())
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Operation").field(&self.op).finish()
    }
}

impl PartialEq for Operation {
    fn eq(&self, other: &Self) -> bool {
        self.op == other.op
    }
}

impl Eq for Operation {}
