import type { NodeTypeInfo } from '../../../components/graph/graph.ts'

/** How one property of a node's config is edited. */
export type ConfigField = {
  readonly name: string
  readonly label: string
  readonly description: string | undefined
  readonly example: string | undefined
  readonly isRequired: boolean
} & ConfigInput

export type ConfigInput =
  | { readonly kind: 'text' }
  | { readonly kind: 'table' }
  | { readonly kind: 'sql' }
  | { readonly kind: 'choice'; readonly options: readonly string[]; readonly fallback: string | undefined }
  | { readonly kind: 'flag' }
  | { readonly kind: 'number'; readonly isWhole: boolean }
  | { readonly kind: 'rows'; readonly fields: readonly ConfigField[] }
  /** Columns of tables, by name. */
  | { readonly kind: 'columns' }
  /** Texts, separated by commas. */
  | { readonly kind: 'list' }
  | { readonly kind: 'names'; readonly namePattern: string | undefined }
  /** Anything else: edited as JSON. */
  | { readonly kind: 'json' }

/** The name of the columns that identify a row. */
const KEY = 'key'

type Schema = Readonly<Record<string, unknown>>

/** Names of fields that name a table. */
const TABLES = /^(table|.*_table|divert_to)$/
/** Fields that fit into a row. */
const IN_ROWS: ReadonlySet<string> = new Set(['text', 'sql', 'choice', 'number'])

/** Longer texts get a field of several lines. */
const ONE_LINE = 1000

/** The fields of a form for a type's config, from its JSON Schema, in its order. */
export function configFields({ config_schema: schema }: Pick<NodeTypeInfo, 'config_schema'>): ConfigField[] {
  return fieldsOf(schema)
}

/** The fields that a config needs: rows that are only appended have no key. One that is set anyway is shown. */
export function shownFields(
  info: Pick<NodeTypeInfo, 'config_schema'>,
  { [KEY]: key, read, write }: Readonly<Record<string, unknown>>,
): ConfigField[] {
  const hasKey = key !== undefined || read === 'changes' || (write !== undefined && write !== 'append')
  return configFields(info).filter(({ kind }) => kind !== 'columns' || hasKey)
}

function fieldsOf(schema: Schema): ConfigField[] {
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(asObject(schema['properties'])).map(([name, property]) => {
    const { description, example } = asObject(property)
    return {
      name,
      label: toLabel(name),
      description: typeof description === 'string' ? description : undefined,
      example: typeof example === 'string' ? example : undefined,
      isRequired: required.includes(name),
      ...inputOf(name, asObject(property)),
    }
  })
}

function inputOf(name: string, schema: Schema): ConfigInput {
  const options = schema['enum']
  if (Array.isArray(options) && options.every((option) => typeof option === 'string')) {
    const fallback = schema['default']
    return { kind: 'choice', options, fallback: typeof fallback === 'string' ? fallback : undefined }
  }
  switch (schema['type']) {
    case 'string':
      return { kind: textKind(name, schema) }
    case 'boolean':
      return { kind: 'flag' }
    case 'number':
    case 'integer':
      return { kind: 'number', isWhole: schema['type'] === 'integer' }
    case 'array':
      return listOf(name, asObject(schema['items']))
    case 'object':
      return namesOf(schema)
    default:
      return { kind: 'json' }
  }
}

function textKind(name: string, { maxLength }: Schema): 'text' | 'table' | 'sql' {
  if (TABLES.test(name)) return 'table'
  return typeof maxLength === 'number' && maxLength > ONE_LINE ? 'sql' : 'text'
}

/** A list of texts, of names of columns, or of objects whose fields fit into a row. */
function listOf(name: string, items: Schema): ConfigInput {
  if (items['type'] === 'string') return { kind: name === KEY ? 'columns' : 'list' }
  const fields = fieldsOf(items)
  const fit = fields.length > 0 && fields.every(({ kind }) => IN_ROWS.has(kind))
  return items['type'] === 'object' && fit ? { kind: 'rows', fields } : { kind: 'json' }
}

/** A record from names to texts. */
function namesOf(schema: Schema): ConfigInput {
  const values = asObject(schema['additionalProperties'])
  if (schema['properties'] !== undefined || values['type'] !== 'string') return { kind: 'json' }
  const { pattern } = asObject(schema['propertyNames'])
  return { kind: 'names', namePattern: typeof pattern === 'string' ? pattern : undefined }
}

/** `missing_columns` → `Missing columns`. */
function toLabel(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function asObject(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? (value as Schema) : {}
}

/** A config with another value of a property; undefined and empty texts leave it out. */
export function withValue(
  config: Readonly<Record<string, unknown>>,
  name: string,
  value: unknown,
): Readonly<Record<string, unknown>> {
  const { [name]: _, ...rest } = config
  return value === undefined || value === '' ? rest : { ...config, [name]: value }
}
