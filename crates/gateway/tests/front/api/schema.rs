//! JSON Schema as far as the document uses it: whether a value fits, and values that do or do not.
//! A keyword that is not known here fails the test, rather than being passed over.

use serde_json::{Map, Value, json};

/// The same numbers every time.
pub(super) struct Luck(u64);

impl Luck {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound.max(1)
    }

    pub(super) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Why a value does not fit; `None`: it does.
pub(super) fn misfit(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    if schema == &json!(true) {
        return None;
    }
    let keywords = object(schema);
    keywords
        .iter()
        .find_map(|(keyword, rule)| against(root, keywords, keyword, rule, value))
        .map(|why| format!("{why}\n in {}", short(value)))
}

fn against(
    root: &Value,
    schema: &Map<String, Value>,
    keyword: &str,
    rule: &Value,
    value: &Value,
) -> Option<String> {
    let fails = |holds: bool| (!holds).then(|| format!("{keyword}: {rule} does not hold"));
    let fits = |schema: &Value| misfit(root, schema, value).is_none();
    match keyword {
        "description" | "title" | "format" | "default" => None,
        "$ref" => misfit(root, referred(root, rule), value),
        "type" => fails(types(rule).any(|name| is_of(name, value))),
        "enum" => fails(list(rule).contains(value)),
        "const" => fails(rule == value),
        "allOf" => list(rule).iter().find_map(|schema| misfit(root, schema, value)),
        "anyOf" => fails(list(rule).iter().any(fits)),
        "oneOf" => fails(list(rule).iter().filter(|schema| fits(schema)).count() == 1),
        "properties" => object(rule).iter().find_map(|(name, schema)| {
            value.get(name).and_then(|member| misfit(root, schema, member))
        }),
        "required" => fails(
            !value.is_object()
                || list(rule)
                    .iter()
                    .all(|name| value.get(name.as_str().expect("a name")).is_some()),
        ),
        "additionalProperties" => {
            let known = schema.get("properties").map(|known| object(known).clone());
            let known = known.unwrap_or_default();
            let more = value.as_object().into_iter().flatten();
            let mut more = more.filter(|(name, _)| !known.contains_key(*name));
            match rule.as_bool() {
                Some(allowed) => fails(allowed || more.next().is_none()),
                None => more.find_map(|(_, member)| misfit(root, rule, member)),
            }
        }
        "items" => value.as_array().into_iter().flatten().find_map(|item| misfit(root, rule, item)),
        "minimum" => fails(value.as_f64().is_none_or(|it| it >= rule.as_f64().expect("one"))),
        "maximum" => fails(value.as_f64().is_none_or(|it| it <= rule.as_f64().expect("one"))),
        "minLength" => fails(chars(value).is_none_or(|it| it >= number(rule))),
        "maxLength" => fails(chars(value).is_none_or(|it| it <= number(rule))),
        "minItems" => fails(value.as_array().is_none_or(|it| it.len() >= number(rule))),
        "maxItems" => fails(value.as_array().is_none_or(|it| it.len() <= number(rule))),
        other => panic!("the test does not know the keyword `{other}`"),
    }
}

/// A value that fits.
pub(super) fn fitting(root: &Value, schema: &Value, luck: &mut Luck) -> Value {
    if let Some(rule) = schema.get("$ref") {
        return fitting(root, referred(root, rule), luck);
    }
    if let Some(values) = schema.get("enum") {
        return luck.pick(list(values)).clone();
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(schemas) = schema.get(keyword) {
            let schema = luck.pick(list(schemas)).clone();
            return fitting(root, &schema, luck);
        }
    }
    let Some(rule) = schema.get("type") else { return anything(luck) };
    let names: Vec<&str> = types(rule).collect();
    match *luck.pick(&names) {
        "null" => Value::Null,
        "boolean" => luck.one_in(2).into(),
        "integer" | "number" => {
            let least = schema.get("minimum").and_then(Value::as_u64).unwrap_or(0);
            let most = schema.get("maximum").and_then(Value::as_u64).unwrap_or(1 << 31);
            luck.pick(&[least, most, least + (most - least) / 2]).to_owned().into()
        }
        "array" => {
            let items = schema.get("items").cloned().unwrap_or(json!({ "type": "string" }));
            let length = luck.below(3);
            (0..length).map(|_| fitting(root, &items, luck)).collect()
        }
        "string" => {
            let least = schema.get("minLength").map_or(0, number);
            let text = luck.pick(&["default", "a", "chat/m", "模板", "x y", "open.a"]);
            text.chars().cycle().take(text.chars().count().max(least)).collect::<String>().into()
        }
        _ => {
            let required = schema.get("required").map_or(&[][..], |names| list(names));
            let members = schema.get("properties").map(object).into_iter().flatten();
            let mut made = Map::new();
            for (name, schema) in members {
                if required.contains(&json!(name)) || luck.one_in(2) {
                    made.insert(name.clone(), fitting(root, schema, luck));
                }
            }
            Value::Object(made)
        }
    }
}

/// A value that most likely does not fit.
pub(super) fn broken(root: &Value, schema: &Value, luck: &mut Luck) -> Value {
    let mut value = fitting(root, schema, luck);
    let Value::Object(members) = &mut value else { return anything(luck) };
    match luck.below(4) {
        0 => return anything(luck),
        1 => drop(members.insert("no_such_member".to_owned(), anything(luck))),
        _ => {
            let names: Vec<String> =
                schema_members(root, schema).into_iter().chain(["all".to_owned()]).collect();
            members.insert(luck.pick(&names).clone(), anything(luck));
        }
    }
    value
}

fn schema_members(root: &Value, schema: &Value) -> Vec<String> {
    let schema = schema.get("$ref").map_or(schema, |rule| referred(root, rule));
    schema
        .get("properties")
        .map(object)
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect()
}

fn anything(luck: &mut Luck) -> Value {
    let long = "長".repeat(5_000);
    luck.pick(&[
        Value::Null,
        json!(true),
        json!(-1),
        json!(u64::MAX),
        json!(1.5e300),
        json!(""),
        json!("\u{0}\u{7f}\u{1f600}"),
        json!(long),
        json!([]),
        json!([[[[]]]]),
        json!({}),
        json!({ "": { "a": null } }),
    ])
    .clone()
}

fn referred<'v>(root: &'v Value, rule: &Value) -> &'v Value {
    let path = rule.as_str().expect("a path").trim_start_matches('#');
    root.pointer(path).unwrap_or_else(|| panic!("{path} is not in the document"))
}

fn types(rule: &Value) -> impl Iterator<Item = &str> {
    let one = rule.as_str().into_iter();
    one.chain(rule.as_array().into_iter().flatten().map(|name| name.as_str().expect("a type")))
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type: {other}"),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

fn number(value: &Value) -> usize {
    value.as_u64().expect("a number") as usize
}

fn chars(value: &Value) -> Option<usize> {
    value.as_str().map(|text| text.chars().count())
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(300).collect()
}

#[test]
fn the_judge_of_this_test_tells_what_fits_from_what_does_not() {
    let root = json!({ "a": { "type": "object", "required": ["x"], "additionalProperties": false,
        "properties": { "x": { "type": ["integer", "null"], "minimum": 1 },
            "y": { "oneOf": [{ "const": "p" }, { "enum": ["q", "r"] }] } } } });
    let schema = json!({ "$ref": "#/a" });
    let fits = |value: Value| misfit(&root, &schema, &value).is_none();
    assert!(fits(json!({ "x": 1 })) && fits(json!({ "x": null, "y": "q" })));
    for bad in [
        json!({}),
        json!({ "x": 0 }),
        json!({ "x": 1, "y": "z" }),
        json!({ "x": 1, "z": 1 }),
        json!(1),
    ] {
        assert!(!fits(bad.clone()), "{bad}");
    }
    let mut luck = Luck::new(7);
    for _ in 0..200 {
        let made = fitting(&root, &schema, &mut luck);
        assert_eq!(misfit(&root, &schema, &made), None);
    }
}
