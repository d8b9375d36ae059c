//! The surroundings of a configuration: variables and stored keys. Refuses to list it: variables are asked for by name, here and nowhere else.

use std::collections::BTreeMap;

use secrecy::SecretString;

/// Where variables are read.
pub trait Env {
    /// The variable, if it is set and not empty. One that is not Unicode counts as not set.
    fn var(&self, name: &str) -> Option<String>;

    /// The key that Ekiden was given to keep for a provider (G7): see [`crate::WithKeys`].
    fn stored_key(&self, _provider: &str) -> Option<SecretString> {
        None
    }
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnv;

/// Variables that were given: another machine's, or a test's.
pub type FixedEnv = BTreeMap<String, String>;

impl Env for ProcessEnv {
    #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
}

impl Env for FixedEnv {
    fn var(&self, name: &str) -> Option<String> {
        self.get(name).filter(|value| !value.is_empty()).cloned()
    }
}
