import { locksDefinition } from '../../../domain/environments.ts'
import { checkGraph, FORMAT_VERSION, type PipelineGraph } from '../../../domain/graph.ts'
import { jsonChanges } from '../../../domain/json/json-changes.ts'
import { type definition, type definitionDetail, importRequest } from '../../../schemas/definitions.ts'
import type { Wire } from '../../../schemas/wire.ts'
import { listAll } from '../../api/pages.ts'
import type { Call } from '../../command.ts'
import { endpointOf, filledPath } from '../../endpoint.ts'
import type { CheckedDocument, Existing, Kind, ObjectState, Settings } from './kind.ts'
import { checkDocument, plainJson, sendChange } from './requests.ts'

type Detail = Wire<typeof definitionDetail>

/** Pipeline definitions, as documents that can be imported (docs/api.md#exported-versions); the graph is that of the newest version. */
export const definitionKind: Kind = {
  kind: 'PipelineDefinition',
  check: checkDefinition,
  async list(call) {
    const { rows } = await listAll(call, 'listDefinitions', {})
    return (rows as readonly Wire<typeof definition>[]).map((one) => existing(call, one))
  },
  async create(call, { name, settings }, owner) {
    const body = { name, description: settings['description'], ...graphOf(settings) }
    await sendChange(call, 'createDefinition', { body, owner })
    return undefined
  },
  async update(call, { id, from, to, owner, adopts }) {
    const { description } = to.settings
    let { tag } = from
    if (adopts || description !== from.settings['description']) {
      const spec = { ids: { def_id: id }, body: { description }, owner, adopts, tag }
      tag = (await sendChange(call, 'updateDefinition', spec)).etag ?? tag
    }
    if (isSameGraph(from.settings, to.settings)) return undefined
    await sendChange(call, 'createVersion', { ids: { def_id: id }, body: graphOf(to.settings), owner, tag })
    return 'a new version in development'
  },
  removal: 'delete',
  async remove(call, { id, from, owner }) {
    await sendChange(call, 'deleteDefinition', { ids: { def_id: id }, owner, tag: from.tag })
    return undefined
  },
}

function checkDefinition(document: Settings): CheckedDocument {
  const checked = checkDocument(importRequest, { format_version: FORMAT_VERSION, ...document }, (request) => ({
    name: request.name,
    settings: settingsOf(request),
  }))
  if (!checked.success) return checked
  const errors = checkGraph(importRequest.parse({ format_version: FORMAT_VERSION, ...document }))
  return errors.length === 0 ? checked : { success: false, errors }
}

function existing(call: Call, { id, name, managed_by: managedBy }: Wire<typeof definition>): Existing {
  return { id, name, managedBy, isUntouched: false, read: () => read(call, id) }
}

async function read({ api }: Call, id: string): Promise<ObjectState> {
  const { body, etag = '*' } = await api.send('GET', filledPath(endpointOf('getDefinition').path, { def_id: id }))
  const { description, latest_versions: latest } = body as Detail
  const versions = Object.values(latest).toSorted((a, b) => b.version - a.version)
  const lock = (change: 'update' | 'delete'): string | undefined => {
    const locking = versions.find(({ environment }) => locksDefinition(environment, change))
    return locking && `version ${locking.version} is in ${locking.environment}`
  }
  return {
    settings: settingsOf({ description, ...(versions[0] ?? { nodes: [], edges: [] }) }),
    tag: etag,
    deletionLock: lock('delete'),
    changeLock: (settings) => (settings['description'] === description ? undefined : lock('update')),
  }
}

/** Nodes and edges by their ids, because their order has no meaning. */
function settingsOf({ description, nodes, edges }: PipelineGraph & { readonly description: string }): Settings {
  return plainJson({ description, nodes: byId(nodes), edges: byId(edges) })
}

function byId<T extends { readonly id: string }>(items: readonly T[]): Readonly<Record<string, T>> {
  return Object.fromEntries(items.map((item) => [item.id, item]))
}

function graphOf(settings: Settings): Settings {
  return { nodes: Object.values(settings['nodes'] ?? {}), edges: Object.values(settings['edges'] ?? {}) }
}

function isSameGraph(a: Settings, b: Settings): boolean {
  return jsonChanges(graphParts(a), graphParts(b)).length === 0
}

function graphParts({ nodes, edges }: Settings): Settings {
  return { nodes, edges }
}
