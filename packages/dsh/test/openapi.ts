/** A validator of the part of JSON Schema that docs/openapi.json uses; anything else is an error. */
import { readFileSync } from 'node:fs';

type Schema =
  | boolean
  | {
      $ref?: string;
      type?: string | string[];
      enum?: unknown[];
      const?: unknown;
      oneOf?: Schema[];
      anyOf?: Schema[];
      allOf?: Schema[];
      properties?: Record<string, Schema>;
      required?: string[];
      items?: Schema;
      additionalProperties?: Schema;
      minimum?: number;
      maximum?: number;
      pattern?: string;
      maxItems?: number;
      [other: string]: unknown;
    };

interface Document {
  readonly paths: Record<
    string,
    Record<
      string,
      { responses: Record<string, { content?: Record<string, { schema: Schema }> }> } | undefined
    >
  >;
  readonly components: { readonly schemas: Record<string, Schema> };
}

const KNOWN = [
  '$ref',
  'type',
  'enum',
  'const',
  'oneOf',
  'anyOf',
  'allOf',
  'properties',
  'required',
  'items',
  'additionalProperties',
  'minimum',
  'maximum',
  'pattern',
  'maxItems',
  'description',
  'format',
  'default',
  'title',
  'examples',
];

const document = JSON.parse(
  readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'),
) as Document;

/** The schema of an answer; none: the gateway has no such operation, or no such answer. */
export function answerOf(method: string, path: string, status: number): Schema | undefined {
  const operation = document.paths[`/api/v1${path}`]?.[method.toLowerCase()];
  return Object.values(operation?.responses[status]?.content ?? {})[0]?.schema;
}

/** Whether the gateway has the operation. */
export function isShared(method: string, path: string): boolean {
  return document.paths[`/api/v1${path}`]?.[method.toLowerCase()] !== undefined;
}

export function schema(name: string): Schema {
  return document.components.schemas[name] ?? false;
}

/** What does not fit, by place. */
export function misfits(value: unknown, schema: Schema, at = '$'): string[] {
  if (typeof schema === 'boolean') return schema ? [] : [`${at}: nothing fits`];
  const odd = Object.keys(schema).find((key) => !KNOWN.includes(key));
  if (odd !== undefined) return [`${at}: this validator does not know \`${odd}\``];
  const found: string[] = [];
  if (schema.$ref)
    found.push(
      ...misfits(
        value,
        document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? false,
        at,
      ),
    );
  if (schema.type !== undefined && ![schema.type].flat().some((type) => is(type, value)))
    found.push(`${at}: ${JSON.stringify(value)} is no ${[schema.type].flat().join(' or ')}`);
  if (schema.enum && !schema.enum.includes(value))
    found.push(`${at}: ${JSON.stringify(value)} is none of ${schema.enum.join(', ')}`);
  if ('const' in schema && schema.const !== value)
    found.push(`${at}: ${JSON.stringify(value)} is not ${JSON.stringify(schema.const)}`);
  for (const part of schema.allOf ?? []) found.push(...misfits(value, part, at));
  for (const choices of [schema.oneOf, schema.anyOf]) {
    if (!choices) continue;
    const each = choices.map((one) => misfits(value, one, at));
    if (!each.some((one) => one.length === 0))
      found.push(
        `${at}: no alternative fits: ${each.toSorted((a, b) => a.length - b.length)[0]?.join('; ')}`,
      );
  }
  if (typeof value === 'number') {
    if (schema.minimum !== undefined && value < schema.minimum)
      found.push(`${at}: ${value} is below ${schema.minimum}`);
    if (schema.maximum !== undefined && value > schema.maximum)
      found.push(`${at}: ${value} is above ${schema.maximum}`);
  }
  if (typeof value === 'string' && schema.pattern && !new RegExp(schema.pattern, 'u').test(value))
    found.push(`${at}: ${value} does not match ${schema.pattern}`);
  if (Array.isArray(value))
    value.forEach((one, index) =>
      found.push(...misfits(one, schema.items ?? true, `${at}[${index}]`)),
    );
  else if (typeof value === 'object' && value !== null)
    found.push(...members(value as Record<string, unknown>, schema, at));
  return found;
}

function members(
  value: Record<string, unknown>,
  schema: Exclude<Schema, boolean>,
  at: string,
): string[] {
  const missing = (schema.required ?? [])
    .filter((name) => !(name in value))
    .map((name) => `${at}: \`${name}\` is missing`);
  return [
    ...missing,
    ...Object.entries(value).flatMap(([name, one]) => {
      const known = schema.properties?.[name];
      return misfits(one, known ?? schema.additionalProperties ?? true, `${at}.${name}`);
    }),
  ];
}

function is(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}
