import { currentSchema } from '../../../iceberg/metadata/metadata.ts'
import type { Table } from '../../../iceberg/metadata/table.ts'
import { formatType } from '../../../iceberg/schema/type-names.ts'
import type { NestedField, Type } from '../../../iceberg/schema/types.ts'
import type { RunChange } from './run-event.ts'

const SPEC = 'https://openlineage.io/spec'

/** The schema of the message itself. */
export const RUN_EVENT_SCHEMA = `${SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent`

const FACETS = {
  schema: '1-2-0/SchemaDatasetFacet',
  symlinks: '1-0-1/SymlinksDatasetFacet',
  jobType: '2-0-4/JobTypeJobFacet',
  errorMessage: '1-0-1/ErrorMessageRunFacet',
} as const

/** What every facet has: who made it, and by which schema. */
function facet(producer: string, name: keyof typeof FACETS, content: object) {
  const [, type = ''] = FACETS[name].split('/')
  return {
    [name]: { _producer: producer, _schemaURL: `${SPEC}/facets/${FACETS[name]}.json#/$defs/${type}`, ...content },
  }
}

/** The facets of a table: its columns, and its location as its second name. None of a table that could not be loaded. */
export function tableFacets(table: Table | undefined, producer: string): object {
  if (table === undefined) return {}
  const { metadata } = table
  const fields = currentSchema(metadata).fields.map(describeField)
  const place = placeOf(metadata.location)
  return {
    ...facet(producer, 'schema', { fields }),
    ...(place === undefined ? {} : facet(producer, 'symlinks', { identifiers: [{ ...place, type: 'LOCATION' }] })),
  }
}

/** The facets of a job. */
export function jobFacets(kind: RunChange['kind'], producer: string): object {
  const processingType = kind === 'PIPELINE' ? 'STREAMING' : 'BATCH'
  return facet(producer, 'jobType', { processingType, integration: 'LOCKHOUSE', jobType: kind })
}

/** The facets of a run. */
export function runFacets(error: string | undefined, producer: string): object {
  return error === undefined
    ? {}
    : facet(producer, 'errorMessage', { message: error, programmingLanguage: 'TypeScript' })
}

/**
 * The name of a location (OpenLineage, "Naming conventions"): `s3://bucket` and the path without its first slash. Undefined for a path of
 * this machine, which means nothing to others.
 */
function placeOf(location: string): { readonly namespace: string; readonly name: string } | undefined {
  const url = /^([a-z][a-z0-9+.-]*):\/\/([^/]+)\/(.+?)\/*$/i.exec(location)
  return url === null ? undefined : { namespace: `${url[1]}://${url[2]}`, name: url[3] ?? '' }
}

function describeField({ name, type, doc }: Pick<NestedField, 'name' | 'type' | 'doc'>): object {
  const inner = innerFields(type)
  return {
    name,
    type: inner === undefined ? formatType(type) : type.kind === 'list' ? 'array' : type.kind,
    ...(doc === undefined ? {} : { description: doc }),
    ...(inner === undefined ? {} : { fields: inner.map(describeField) }),
  }
}

/** The fields inside a type under the names that the schema facet has for those of lists and maps; undefined: none. */
function innerFields(type: Type): readonly Pick<NestedField, 'name' | 'type'>[] | undefined {
  switch (type.kind) {
    case 'struct':
      return type.fields
    case 'list':
      return [{ name: '_element', type: type.element }]
    case 'map':
      return [
        { name: '_key', type: type.key },
        { name: '_value', type: type.value },
      ]
    default:
      return undefined
  }
}
