import { LRUCache } from 'lru-cache'
import { nextStep } from '../../../domain/environments.ts'
import type { PipelineGraph } from '../../../domain/graph.ts'
import type { AccessedObject } from '../../../domain/roles.ts'
import type { ApprovalStore } from '../../../storage/stores/approvals/approval-store.ts'
import type { EnvironmentStore } from '../../../storage/stores/environment-store.ts'
import type { OperationStore } from '../../../storage/stores/operations/operation-store.ts'
import type { QuarantineStore } from '../../../storage/stores/operations/quarantine-store.ts'
import type { PipelineRecord, PipelineStore } from '../../../storage/stores/pipelines/pipeline-store.ts'
import type { VersionStore } from '../../../storage/stores/version-store.ts'
import { TABLE_FIELDS } from '../../../streaming/graph/column-uses.ts'
import { type ParameterValues, secretName, textParts } from '../../../streaming/graph/parameter-text.ts'

export interface ObjectTablesDeps {
  readonly pipelines: Pick<PipelineStore, 'find'>
  readonly versions: Pick<VersionStore, 'idsOf' | 'withIds' | 'findById'>
  readonly environments: Pick<EnvironmentStore, 'list'>
  readonly operations: Pick<OperationStore, 'find'>
  readonly quarantine: Pick<QuarantineStore, 'find'>
  readonly approvals: Pick<ApprovalStore, 'findSummary'>
}

/** Tables of an object, and the environment for which they are needed. */
export interface UsedTables {
  readonly tables: readonly string[]
  readonly environment?: string | undefined
}

/** Finds the tables that objects read and write. */
export interface ObjectTables {
  /** Undefined for an object that does not exist. */
  of(object: AccessedObject): Promise<UsedTables | undefined>
  /** Tables that a graph names, with the parameters of every environment. */
  ofGraph(graph: PipelineGraph): Promise<readonly string[]>
  /** Tables of all versions of each definition, with the parameters of every environment. */
  ofDefinitions(ids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
}

const MAX_VERSIONS = 50_000

/** Tables of objects from the state database. Versions never change, so their texts are read once. */
export function createObjectTables(deps: ObjectTablesDeps): ObjectTables {
  const known = new LRUCache<string, readonly string[]>({ max: MAX_VERSIONS })
  const ofDefinitions = (ids: readonly string[]) => definitionTables(deps, known, ids)
  const ofDefinition = async (id: string): Promise<readonly string[]> => (await ofDefinitions([id])).get(id) ?? []
  return {
    ofDefinitions,
    async ofGraph(graph) {
      const parameters = await allParameters(deps)
      return tableTexts(graph).flatMap((text) => resolvedNames(text, parameters))
    },
    async of({ kind, id, environment }) {
      switch (kind) {
        case 'table':
          return { tables: [id] }
        case 'pipeline': {
          const pipeline = await deps.pipelines.find(id)
          return pipeline && { tables: tablesOfPipeline(pipeline), environment: pipeline.environment }
        }
        case 'definition':
          return { tables: await ofDefinition(id), environment }
        case 'version':
        case 'move': {
          const version = await deps.versions.findById(id)
          if (version === undefined) return undefined
          const target = kind === 'move' ? nextStep(version.environment, 'promote')?.to : version.environment
          return { tables: await ofDefinition(version.definitionId), environment: target }
        }
        case 'operation': {
          const operation = await deps.operations.find(id)
          return operation && { tables: [operation.table] }
        }
        case 'quarantine': {
          const entry = await deps.quarantine.find(id)
          return entry && { tables: [entry.table_name] }
        }
        case 'approval': {
          const request = await deps.approvals.findSummary(id)
          return request && { tables: await ofDefinition(request.definitionId) }
        }
      }
    },
  }
}

/** Every table that a pipeline reads or writes. */
export function tablesOfPipeline({ sources, sinkTable, options }: PipelineRecord): readonly string[] {
  return [...sources, sinkTable, ...(options.lookups ?? []), ...(options.diverts ?? [])]
}

/** Texts of a graph that name tables, with their parameters as they are written. */
export function tableTexts({ nodes }: PipelineGraph): readonly string[] {
  const texts = nodes.flatMap(({ config }) => TABLE_FIELDS.map((field) => config[field]))
  return [...new Set(texts.filter((text) => typeof text === 'string'))].filter(mayNameTable)
}

/** What has no dot cannot name a table: a draft may have no table yet. */
function mayNameTable(text: string): boolean {
  return text.includes('.') || text.includes('${')
}

/** The names that a text has with the parameters of any environment; the text itself where none has its parameters. */
export function resolvedNames(text: string, parameters: readonly ParameterValues[]): readonly string[] {
  if (!text.includes('${')) return [text]
  const names = parameters.flatMap((values) => resolve(text, values) ?? [])
  return names.length === 0 ? [text] : [...new Set(names)]
}

function resolve(text: string, values: ParameterValues): string | undefined {
  let name = ''
  for (const part of textParts(text)) {
    if (part.kind === 'malformed') return undefined
    const value = part.kind === 'text' ? part.text : Object.hasOwn(values, part.name) ? values[part.name] : undefined
    if (value === undefined || (part.kind === 'parameter' && secretName(value) !== undefined)) return undefined
    name += String(value)
  }
  return name
}

async function allParameters({ environments }: ObjectTablesDeps): Promise<readonly ParameterValues[]> {
  return (await environments.list()).map(({ settings }) => settings.parameters)
}

async function definitionTables(
  deps: ObjectTablesDeps,
  known: LRUCache<string, readonly string[]>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { versions } = deps
  const owned = await versions.idsOf(ids)
  const missing = owned.filter(({ id }) => !known.has(id)).map(({ id }) => id)
  const read = new Map((await versions.withIds(missing)).map(({ id, graph }) => [id, tableTexts(graph)]))
  for (const [id, texts] of read) known.set(id, texts)
  const parameters = await allParameters(deps)
  const tables = new Map<string, Set<string>>()
  for (const { id, definitionId } of owned) {
    const names = tables.get(definitionId) ?? new Set<string>()
    tables.set(definitionId, names)
    const texts = read.get(id) ?? known.get(id) ?? []
    for (const text of texts) for (const name of resolvedNames(text, parameters)) names.add(name)
  }
  return new Map([...tables].map(([id, names]) => [id, [...names]]))
}
