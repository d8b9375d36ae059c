//! Where the file and the state are looked for. Creates nothing and looks at no folder.

use std::path::{Path, PathBuf};

use crate::env::Env;

/// Whose customs hold for folders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Platform {
    /// Linux, macOS and their kin: the XDG folders.
    Unix,
    /// Windows: the roaming and the local application data.
    Windows,
}

impl Platform {
    /// The one that this program was built for.
    #[must_use]
    pub const fn here() -> Self {
        if cfg!(windows) { Self::Windows } else { Self::Unix }
    }
}

/// The configuration file where no other is named: `$XDG_CONFIG_HOME/ekiden/config.toml` or
/// `~/.config/ekiden/config.toml`, on Windows `%APPDATA%\ekiden\config.toml`. `None` when there is
/// no home folder.
#[must_use]
pub fn config_file(env: &dyn Env, platform: Platform) -> Option<PathBuf> {
    let base = match platform {
        Platform::Unix => absolute(env, "XDG_CONFIG_HOME").or_else(|| under_home(env, ".config")),
        Platform::Windows => env.var("APPDATA").map(PathBuf::from),
    };
    base.map(|base| base.join("ekiden").join("config.toml"))
}

/// The state folder where no other is named: `$XDG_STATE_HOME/ekiden` or `~/.local/state/ekiden`,
/// on Windows `%LOCALAPPDATA%\ekiden`. `None` when there is no home folder.
#[must_use]
pub fn state_dir(env: &dyn Env, platform: Platform) -> Option<PathBuf> {
    let base = match platform {
        Platform::Unix => {
            absolute(env, "XDG_STATE_HOME").or_else(|| under_home(env, ".local/state"))
        }
        Platform::Windows => env.var("LOCALAPPDATA").map(PathBuf::from),
    };
    base.map(|base| base.join("ekiden"))
}

/// A path without the one pair of quotes around it that files of variables, and Windows for single ones,
/// leave there: no path begins and ends with quotes.
#[must_use]
pub fn unquoted(written: &str) -> &str {
    let bare = written.trim();
    let inner = ['"', '\''].into_iter().find_map(|quote| {
        let inner = bare.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    });
    inner.unwrap_or(written)
}

/// The XDG rules say that a relative path in these variables is to be ignored.
fn absolute(env: &dyn Env, variable: &str) -> Option<PathBuf> {
    env.var(variable).map(PathBuf::from).filter(|path| path.has_root())
}

fn under_home(env: &dyn Env, folder: &str) -> Option<PathBuf> {
    env.var("HOME").map(|home| Path::new(&home).join(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::FixedEnv;

    fn env(pairs: &[(&str, &str)]) -> FixedEnv {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn g7_quotes_around_a_path_are_not_part_of_it() {
        for (written, path) in [
            ("/a/b c", "/a/b c"),
            ("\"/a/b c\"", "/a/b c"),
            (" '/a' ", "/a"),
            ("\"\"", ""),
            ("\"", "\""),
            ("\"/a'", "\"/a'"),
            ("\"a\"/\"b\"", "\"a\"/\"b\""),
            ("/a/\"b\"", "/a/\"b\""),
        ] {
            assert_eq!(unquoted(written), path);
        }
    }

    #[test]
    fn the_users_own_folders_are_found_on_each_platform() {
        let home = env(&[("HOME", "/home/a"), ("XDG_CONFIG_HOME", "relative")]);
        let config = config_file(&home, Platform::Unix).unwrap();
        assert_eq!(config, Path::new("/home/a/.config/ekiden/config.toml"));
        let state = state_dir(&home, Platform::Unix).unwrap();
        assert_eq!(state, Path::new("/home/a/.local/state/ekiden"));
        let xdg = env(&[("HOME", "/home/a"), ("XDG_CONFIG_HOME", "/x"), ("XDG_STATE_HOME", "/s")]);
        assert_eq!(config_file(&xdg, Platform::Unix), Some("/x/ekiden/config.toml".into()));
        assert_eq!(state_dir(&xdg, Platform::Unix), Some("/s/ekiden".into()));
        let windows = env(&[("APPDATA", "R"), ("LOCALAPPDATA", "L")]);
        let config = config_file(&windows, Platform::Windows).unwrap();
        assert_eq!(config, Path::new("R").join("ekiden").join("config.toml"));
        assert_eq!(state_dir(&windows, Platform::Windows), Some(Path::new("L").join("ekiden")));
        assert_eq!(config_file(&env(&[]), Platform::Unix), None);
    }
}
