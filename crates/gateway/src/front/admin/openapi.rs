//! The OpenAPI 3.1 document of our own interface, printed from the table of operations and the
//! types of the answers.
//!
//! It refuses to be written by hand: `docs/openapi.json` is this, and a test compares.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::operations::{BASE, Gives, OPERATIONS, Operation, Param, Takes};

/// The document.
pub(crate) fn document() -> Value {
    let mut answers = generator(SchemaSettings::for_serialize);
    let mut bodies = generator(SchemaSettings::for_deserialize);
    let mut paths = Map::new();
    for operation in &OPERATIONS {
        let entry = described(operation, &mut answers, &mut bodies);
        let path = paths.entry(format!("{BASE}{}", operation.path)).or_insert_with(|| json!({}));
        if let Value::Object(path) = path {
            path.insert(operation.verb.name().to_ascii_lowercase(), entry);
        }
    }
    let failure = answers.subschema_for::<super::refusal::Failure>();
    let mut schemas = bodies.take_definitions(true);
    schemas.extend(answers.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ekiden",
            "description": "The gateway's own interface. Times are Unix milliseconds or spans in \
                milliseconds; names are those of the configuration. Fields may be added within v1; \
                none changes its meaning or goes. Keys, prompts and answers are in none of it.",
            "version": "v1",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "failure": {
                    "description": "Refused: `error.code` where the refusal is this interface's \
                        own; guards, paths and methods answer as the dialects do.",
                    "content": { "application/json": { "schema": failure } },
                },
            },
            "securitySchemes": {
                "admin": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An admin token; needed where the gateway listens beyond loopback.",
                },
            },
        },
        "security": [{}, { "admin": [] }],
    })
}

/// The OpenAPI document of the gateway's own interface, as it stands in `docs/openapi.json`.
#[must_use]
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(&document()).unwrap_or_default();
    text.push('\n');
    text
}

fn generator(contract: fn(SchemaSettings) -> SchemaSettings) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    contract(settings).into_generator()
}

fn described(
    operation: &Operation,
    answers: &mut SchemaGenerator,
    bodies: &mut SchemaGenerator,
) -> Value {
    let mut entry = json!({
        "operationId": operation.op.id(),
        "summary": operation.about,
        "parameters": parameters(operation),
        "responses": responses(operation, answers),
    });
    if let (Some(body), Value::Object(entry)) = (operation.body, &mut entry) {
        let content = json!({ "application/json": { "schema": body(bodies) } });
        entry.insert("requestBody".into(), json!({ "required": true, "content": content }));
    }
    entry
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let segments = operation.path.split('/').filter_map(|segment| {
        let name = segment.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({
            "name": name, "in": "path", "required": true,
            "schema": { "type": "string", "minLength": 1 },
        }))
    });
    let query = operation.query.iter().map(|param| {
        json!({
            "name": param.name, "in": "query", "required": false,
            "description": param.about, "schema": schema(param),
        })
    });
    segments.chain(query).collect()
}

fn schema(param: &Param) -> Value {
    match param.takes {
        Takes::Count { most } => json!({ "type": "integer", "minimum": 1, "maximum": most }),
        Takes::Number { most } => json!({ "type": "integer", "minimum": 0, "maximum": most }),
        Takes::Text => json!({ "type": "string", "maxLength": 1_000 }),
        Takes::Choice(choices) => json!({ "type": "string", "enum": choices }),
    }
}

fn responses(operation: &Operation, answers: &mut SchemaGenerator) -> Value {
    let content = |kind: &str, schema: Schema| json!({ kind: { "schema": schema } });
    let (status, description, content) = match operation.gives {
        Gives::Json(status, schema) => {
            (status, "Done.", content("application/json", schema(answers)))
        }
        Gives::Text(about) => {
            (200, about, content("text/plain", schemars::json_schema!({ "type": "string" })))
        }
        Gives::Events(schema) => (
            200,
            "Events; each one's data is JSON of this schema, and its type is the member `event`.",
            content("text/event-stream", schema(answers)),
        ),
    };
    let mut responses = Map::new();
    let success = json!({ "description": description, "content": content });
    responses.insert(status.to_string(), success);
    for (status, _) in operation.fails {
        let codes: Vec<String> = operation
            .fails
            .iter()
            .filter(|(other, _)| other == status)
            .map(|(_, code)| format!("`{code}`"))
            .collect();
        let failure = json!({
            "description": codes.join(", "),
            "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/Failure" } } },
        });
        responses.insert(status.to_string(), failure);
    }
    responses.insert("default".into(), json!({ "$ref": "#/components/responses/failure" }));
    Value::Object(responses)
}
