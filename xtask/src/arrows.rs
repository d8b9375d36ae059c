//! Which crate may know which. It knows nothing of versions or features: only who may name whom.

use anyhow::Context as _;
use serde_json::Value;

use crate::project::Project;
use crate::tally::Tally;

/// Every member of the workspace, and the members that it may depend on.
const ALLOWED: [(&str, &[&str]); 15] = [
    ("ekiden-engine", &[]),
    ("ekiden-classify", &["ekiden-engine"]),
    ("ekiden-config", &["ekiden-engine"]),
    ("ekiden-store", &["ekiden-engine"]),
    ("ekiden-dialect", &["ekiden-engine", "ekiden-classify"]),
    (
        "ekiden-gateway",
        &["ekiden-engine", "ekiden-classify", "ekiden-dialect", "ekiden-config", "ekiden-store"],
    ),
    ("ekiden-wasm", &["ekiden-engine", "ekiden-classify"]),
    ("ekiden-sim", &[]),
    ("ekiden-console", &[]),
    (
        "ekiden",
        &[
            "ekiden-gateway",
            "ekiden-console",
            "ekiden-config",
            "ekiden-store",
            "ekiden-sim",
            "ekiden-engine",
            "ekiden-classify",
            "ekiden-dialect",
        ],
    ),
    (
        "ekiden-model",
        &[
            "ekiden-engine",
            "ekiden-classify",
            "ekiden-dialect",
            "ekiden-config",
            "ekiden-store",
            "ekiden-gateway",
            "ekiden-sim",
        ],
    ),
    (
        "ekiden-fuzz",
        &[
            "ekiden-engine",
            "ekiden-classify",
            "ekiden-dialect",
            "ekiden-config",
            "ekiden-gateway",
            "ekiden-model",
        ],
    ),
    ("ekiden-bench", &["ekiden-engine", "ekiden-classify", "ekiden-dialect"]),
    ("ekiden-soak", &["ekiden-sim"]),
    ("xtask", &[]),
];
/// What tests may use everywhere but in the engine.
const FOR_TESTS: [&str; 2] = ["ekiden-sim", "ekiden-model"];

pub(crate) fn check(project: &Project) -> anyhow::Result<Tally> {
    let mut wrong = Vec::new();
    for package in &project.packages {
        let name = package["name"].as_str().context("a package without a name")?;
        wrong.extend(misplaced(name, package["dependencies"].as_array().map_or(&[], |all| all)));
    }
    for edges in ["normal,build,dev", "features"] {
        let tree = project.cargo(&["tree", "-p", "ekiden-engine", "--edges", edges]).read()?;
        if tree.trim().lines().count() != 1 {
            wrong.push(format!("ekiden-engine depends on something:\n{}", tree.trim()));
        }
    }
    for name in ["engine", "classify"] {
        let path = project.root.join("crates").join(name).join("src").join("lib.rs");
        let text = std::fs::read_to_string(&path).with_context(|| project.name(&path))?;
        if !text.lines().any(|line| line.trim() == "#![no_std]") {
            wrong.push(format!("{} does not say #![no_std]", project.name(&path)));
        }
    }
    anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(Tally::PASSED)
}

/// The dependencies of one package that the table does not allow.
fn misplaced(name: &str, dependencies: &[Value]) -> Vec<String> {
    let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
        return vec![format!("{name} stands in no row of the table in xtask/src/arrows.rs")];
    };
    let mut wrong = Vec::new();
    for dependency in dependencies {
        let Some(other) = dependency["name"].as_str() else { continue };
        if name == "ekiden-engine" {
            wrong.push(format!("ekiden-engine -> {other}: the engine depends on nothing at all"));
        } else if ALLOWED.iter().any(|(known, _)| *known == other) {
            let for_tests = dependency["kind"] == "dev" && FOR_TESTS.contains(&other);
            if !allowed.contains(&other) && !for_tests {
                wrong.push(format!("{name} -> {other}: no such arrow is allowed"));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_arrow_that_the_table_does_not_have_is_found() {
        let to = |name: &str, kind: Value| vec![json!({ "name": name, "kind": kind })];
        let normal = Value::Null;
        assert!(misplaced("ekiden-gateway", &to("ekiden-store", normal.clone())).is_empty());
        assert!(misplaced("ekiden-config", &to("toml", normal.clone())).is_empty());
        assert!(misplaced("ekiden-config", &to("ekiden-sim", json!("dev"))).is_empty());
        assert_eq!(misplaced("ekiden-config", &to("ekiden-sim", normal.clone())).len(), 1);
        assert_eq!(misplaced("ekiden-dialect", &to("ekiden-gateway", normal)).len(), 1);
        assert_eq!(misplaced("ekiden-dialect", &to("ekiden-gateway", json!("dev"))).len(), 1);
        assert_eq!(misplaced("ekiden-engine", &to("proptest", json!("dev"))).len(), 1);
        assert_eq!(misplaced("ekiden-new", &[]).len(), 1);
    }
}
