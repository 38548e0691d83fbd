import type { RequestContext } from '../../domain/audit.ts'
import type { Role } from '../../domain/roles.ts'
import type { IcebergRestService } from '../../services/iceberg-rest/iceberg-rest-service.ts'
import type { TableAnswer } from '../../services/iceberg-rest/table-answer.ts'
import { visibleTableAnswer } from '../../services/identity/access/visible-properties.ts'
import { isNotModified } from '../routing/entity-tag.ts'

/** A request to an endpoint: its path parameters are decoded. */
export interface EndpointCall {
  readonly service: IcebergRestService
  /** Levels of the namespace in the path. */
  readonly namespace: readonly string[]
  /** Name of the table in the path; empty where it has none. */
  readonly table: string
  readonly query: URLSearchParams
  readonly headers: Headers
  readonly context: RequestContext
  body(): Promise<Uint8Array>
}

/** One endpoint of the protocol. */
export interface Endpoint {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'DELETE'
  /** As in the specification, without `/v1/{prefix}`. */
  readonly path: string
  readonly minRole: Role
  /** Whether the handler shows only what exists for a caller whom grants limit; a table in the path is checked before. */
  readonly filtered?: true
  readonly handle: (call: EndpointCall) => Promise<Response>
  /** The answer to a repetition of a request that has taken effect (`Idempotency-Key`); default: 204. */
  readonly repeat?: (call: EndpointCall) => Promise<Response>
}

const READER: Role = 'Auditor'
const WRITER: Role = 'DataEngineer'

/** The supported endpoints of the Iceberg REST specification; clients see this list in the configuration. */
export const ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: 'namespaces',
    minRole: READER,
    filtered: true,
    handle: async ({ service, query, context }) => {
      const parent = levelsOf(query.get('parent') ?? '')
      return json(await service.listNamespaces(parent, pageOf(query), context.caller))
    },
  },
  {
    method: 'POST',
    path: 'namespaces',
    minRole: WRITER,
    handle: async ({ service, body, context }) => json(await service.createNamespace(await body(), context)),
    repeat: async ({ service, body, context }) => json(await service.createdNamespace(await body(), context.caller)),
  },
  {
    method: 'GET',
    path: 'namespaces/{namespace}',
    minRole: READER,
    filtered: true,
    handle: async ({ service, namespace, context }) => json(await service.namespace(namespace, context.caller)),
  },
  {
    method: 'HEAD',
    path: 'namespaces/{namespace}',
    minRole: READER,
    filtered: true,
    handle: async ({ service, namespace, context }) => {
      await service.namespace(namespace, context.caller)
      return noContent()
    },
  },
  {
    method: 'DELETE',
    path: 'namespaces/{namespace}',
    minRole: WRITER,
    handle: async ({ service, namespace, context }) => {
      await service.dropNamespace(namespace, context)
      return noContent()
    },
  },
  {
    method: 'POST',
    path: 'namespaces/{namespace}/properties',
    minRole: WRITER,
    handle: async ({ service, namespace, body, context }) =>
      json(await service.changeNamespace(namespace, await body(), context)),
    repeat: async ({ service, body }) => json(service.changedNamespace(await body())),
  },
  {
    method: 'GET',
    path: 'namespaces/{namespace}/tables',
    minRole: READER,
    filtered: true,
    handle: async ({ service, namespace, query, context }) =>
      json(await service.listTables(namespace, pageOf(query), context.caller)),
  },
  {
    method: 'POST',
    path: 'namespaces/{namespace}/tables',
    minRole: WRITER,
    filtered: true,
    handle: async ({ service, namespace, body, context }) =>
      tableJson(await service.createTable(namespace, await body(), context), context),
    repeat: async ({ service, namespace, body, context }) =>
      tableJson(await service.createdTable(namespace, await body(), context), context),
  },
  {
    method: 'POST',
    path: 'namespaces/{namespace}/register',
    minRole: WRITER,
    handle: async ({ service, namespace, body, context }) =>
      tableJson(await service.registerTable(namespace, await body(), context), context),
    repeat: async ({ service, namespace, body, context }) =>
      tableJson(await service.createdTable(namespace, await body(), context), context),
  },
  {
    method: 'GET',
    path: 'namespaces/{namespace}/tables/{table}',
    minRole: READER,
    handle: async ({ service, namespace, table: name, query, headers, context }) => {
      const isKnown = (tag: string): boolean => isNotModified(headers, tag)
      const onlyRefs = query.get('snapshots')?.toLowerCase() === 'refs'
      const answer = await service.loadTable({ namespace, name }, { isKnown, onlyRefs })
      return answer === undefined ? new Response(null, { status: 304 }) : tableJson(answer, context)
    },
  },
  {
    method: 'HEAD',
    path: 'namespaces/{namespace}/tables/{table}',
    minRole: READER,
    handle: async ({ service, namespace, table: name }) => {
      await service.requireTable({ namespace, name })
      return noContent()
    },
  },
  {
    method: 'POST',
    path: 'namespaces/{namespace}/tables/{table}',
    minRole: WRITER,
    handle: async ({ service, namespace, table: name, body, context }) =>
      tableJson(await service.commit({ namespace, name }, await body(), context), context),
    repeat: async ({ service, namespace, table: name, context }) =>
      tableJson(await service.currentTable({ namespace, name }), context),
  },
  {
    method: 'DELETE',
    path: 'namespaces/{namespace}/tables/{table}',
    minRole: WRITER,
    handle: async ({ service, namespace, table: name, query, context }) => {
      const purge = query.get('purgeRequested')?.toLowerCase() === 'true'
      await service.dropTable({ namespace, name }, { purge, context })
      return noContent()
    },
  },
  {
    method: 'POST',
    path: 'namespaces/{namespace}/tables/{table}/metrics',
    minRole: READER,
    handle: async ({ service, namespace, table: name, body, context }) => {
      await service.report({ namespace, name }, await body(), context)
      return noContent()
    },
  },
  {
    method: 'POST',
    path: 'tables/rename',
    minRole: WRITER,
    filtered: true,
    handle: async ({ service, body, context }) => {
      await service.renameTable(await body(), context)
      return noContent()
    },
  },
  {
    method: 'POST',
    path: 'transactions/commit',
    minRole: WRITER,
    filtered: true,
    handle: async ({ service, body, context }) => {
      await service.commitAll(await body(), context)
      return noContent()
    },
  },
]

/** Separates the levels of a namespace in a path or query. */
const UNIT_SEPARATOR = '\u001f'

/** The levels of a namespace as a client writes them in a path or query; none for empty text. */
export function levelsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(UNIT_SEPARATOR)
}

function pageOf(query: URLSearchParams) {
  return { pageToken: query.get('pageToken') ?? undefined, pageSize: query.get('pageSize') ?? undefined }
}

function json(text: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, { headers: { 'Content-Type': 'application/json', ...headers } })
}

function tableJson({ json: text, entityTag }: TableAnswer, { caller }: RequestContext): Response {
  return json(visibleTableAnswer(caller, text), entityTag === undefined ? {} : { ETag: entityTag })
}

function noContent(): Response {
  return new Response(null, { status: 204 })
}
