import { z } from 'zod'
import { APPROVAL_STATUSES } from '../domain/approvals.ts'
import { ENVIRONMENTS } from '../domain/environments.ts'
import { FORMAT_VERSION } from '../domain/graph.ts'
import { count, managedBy, NO_CONTROL_CHARACTERS, pageQuery, timestamp } from './common.ts'

/** An id in a path. An unknown id is 404 in any form; only ids that a database cannot store are malformed. */
export const resourceId = z.string().max(200).regex(NO_CONTROL_CHARACTERS, 'must not contain control characters')

const notBlank = (max: number) => z.string().max(max).regex(/\S/, 'must not be blank')

/** Text written by people, such as comments and reasons. */
export const words = notBlank(10_000)

export const environment = z.enum(ENVIRONMENTS).meta({ id: 'Environment' })

const elementId = z.string().min(1).max(200)
const nodeRequest = z
  .strictObject({
    id: elementId,
    type: elementId.meta({ description: 'Any non-empty text' }),
    config: z.record(z.string(), z.unknown()).default({}),
    position: z.strictObject({ x: z.number(), y: z.number() }).default({ x: 0, y: 0 }),
  })
  .meta({ id: 'NodeRequest' })

const edge = z.strictObject({ id: elementId, source: elementId, target: elementId }).meta({ id: 'Edge' })

const graphRequestFields = { nodes: z.array(nodeRequest).default([]), edges: z.array(edge).default([]) }

const position = z.object({ x: z.number(), y: z.number() }).meta({ id: 'Position' })

const node = z
  .object({ id: elementId, type: elementId, config: z.record(z.string(), z.unknown()), position })
  .meta({ id: 'Node' })

const graphFields = { nodes: z.array(node), edges: z.array(edge) }

const name = notBlank(200)
const description = z.string().max(10_000)

export const createDefinitionRequest = z.strictObject({
  name,
  description: description.default(''),
  ...graphRequestFields,
})

export const updateDefinitionRequest = z
  .strictObject({ name: name.optional(), description: description.optional() })
  .refine((change) => Object.keys(change).length > 0, 'give name, description or both')
  .meta({ minProperties: 1 })

/** A document of a newer system may have any fields, so its version is checked first. */
const formatVersion = z
  .int()
  .min(1)
  .refine((version) => version <= FORMAT_VERSION, {
    message: `this system supports format versions up to ${FORMAT_VERSION}`,
    params: { code: 'UNSUPPORTED_FORMAT_VERSION' },
  })

export const importRequest = z.strictObject({
  format_version: formatVersion,
  name,
  description: description.default(''),
  ...graphRequestFields,
  version: z
    .unknown()
    .optional()
    .meta({ description: 'Ignored, so that an exported document can be imported unchanged' }),
  exported_at: z.unknown().optional().meta({ description: 'Ignored, like `version`' }),
})

export const createVersionRequest = z.strictObject(graphRequestFields)

/** A request without fields may have an empty object as body. */
export const emptyRequest = z.strictObject({})

const definitionFields = {
  id: z.string().meta({ example: 'def-01k9…' }),
  name: z.string(),
  description: z.string(),
  managed_by: managedBy,
  created_by: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
}

export const definition = z.object(definitionFields).meta({ id: 'PipelineDefinition' })

const versionFields = {
  id: z.string().meta({ example: 'ver-01k9…' }),
  definition_id: z.string(),
  version: z.int().min(1).meta({ description: '1..n in a definition, without gaps' }),
  format_version: z.int().min(1),
  environment,
  content_hash: z.string().meta({ description: 'SHA-256 of the canonical nodes and edges, in hex' }),
  node_count: count,
  edge_count: count,
  created_by: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
}

/** A version without its content, as in lists. */
export const versionSummary = z.object(versionFields).meta({ id: 'PipelineVersionSummary' })

export const version = z.object({ ...versionFields, ...graphFields }).meta({ id: 'PipelineVersion' })

export const definitionDetail = z
  .object({
    ...definitionFields,
    latest_versions: z
      .partialRecord(environment, version)
      .meta({ description: 'The newest version in each environment that has one' }),
  })
  .meta({ id: 'PipelineDefinitionDetail' })

export const createdDefinition = z.object({ definition, version }).meta({ id: 'CreatedDefinition' })

export const definitionList = z.array(definition).meta({ id: 'PipelineDefinitionList' })
export const versionList = z.array(versionSummary).meta({ id: 'PipelineVersionList' })

export const exportedVersion = z
  .object({
    format_version: z.int().min(1),
    name: z.string(),
    description: z.string(),
    version: z.int().min(1),
    ...graphFields,
    exported_at: timestamp,
  })
  .meta({ id: 'ExportedVersion' })

export const listDefinitionsQuery = pageQuery.extend({
  environment: environment.optional().meta({ description: 'Only definitions with a version there' }),
})

export const definitionParams = z.strictObject({ def_id: resourceId })
export const versionParams = z.strictObject({ def_id: resourceId, ver_id: resourceId })
export const diffParams = z.strictObject({ def_id: resourceId, a: resourceId, b: resourceId })

const change = z
  .object({
    op: z.enum(['add', 'remove', 'replace']),
    path: z.string().meta({ description: 'JSON pointer relative to the node or edge', example: '/config/table' }),
    from: z.unknown().optional(),
    to: z.unknown().optional(),
  })
  .meta({ id: 'JsonChange' })

const changed = z.array(z.object({ id: z.string(), changes: z.array(change) }))
const comparedVersion = z
  .object({ id: z.string(), version: z.int().min(1), environment, content_hash: z.string() })
  .meta({ id: 'ComparedVersion' })

export const versionDiff = z
  .object({
    from: comparedVersion.nullable().meta({ description: 'Null: there is no version to compare with' }),
    to: comparedVersion,
    identical: z
      .boolean()
      .meta({ description: 'Whether both have the same content, including positions on the canvas' }),
    nodes: z.object({ added: graphFields.nodes, removed: graphFields.nodes, changed }),
    edges: z.object({ added: graphFields.edges, removed: graphFields.edges, changed }),
    moves: z
      .array(z.object({ id: z.string(), from: position, to: position }))
      .meta({ description: 'Nodes with another position on the canvas' }),
  })
  .meta({ id: 'VersionDiff' })

export const boardQuery = pageQuery.extend({
  definition_id: resourceId.optional().meta({ description: 'Only this definition' }),
})

const boardCell = z.object({ newest: versionSummary, count }).meta({ id: 'BoardCell' })

/** A pending move: the part of an approval request that every Auditor may read. */
const pendingMove = z
  .object({
    id: z.string().meta({ example: 'pr-01k9…' }),
    version_id: z.string(),
    version: z.int().min(1),
    from_environment: environment,
    to_environment: environment,
    status: z.enum(APPROVAL_STATUSES),
    requested_by: z.string(),
    requested_at: timestamp,
  })
  .meta({ id: 'PendingMove' })

export const board = z
  .object({
    success: z.literal(true),
    definitions: z.array(
      z
        .object({
          ...definitionFields,
          environments: z
            .partialRecord(environment, boardCell)
            .meta({ description: 'The newest version and the number of versions in each environment that has one' }),
          pending: z.array(pendingMove),
        })
        .meta({ id: 'BoardRow' }),
    ),
    next_page_token: z.string().nullable(),
  })
  .meta({ id: 'PipelineBoard' })
