import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import {
  CATALOGS_PATH,
  CONFIG_PATH,
  catalogOf,
  catalogPath,
  readCatalog,
  type TaggedConfig,
} from '../../api/catalog-config.ts'
import { ApiError, hasCode } from '../../api/api-error.ts'
import { api, type ApiAnswer } from '../../api/client.ts'
import { fetchPage } from '../../api/paged-list.ts'
import type {
  CatalogAnswer,
  ChangedCatalogAnswer,
  ConnectionTest,
  CreatedToken,
  CreateTokenRequest,
  Pipeline,
  PipelineList,
  SetCatalogConfigRequest,
  SetCatalogConfigResult,
  Token,
} from '../../api/types.ts'
import { catalogStrings, tokenStrings } from '../../strings/settings.ts'

const PAGE_SIZE = 200

/** A configuration that was set, and the running pipelines that do not find their tables in it. */
export interface SavedConfig {
  readonly saved: TaggedConfig
  readonly affected: readonly string[]
}

/** Sets the default catalog; refused with 412 if the configuration has changed since it was read. */
export async function setConfig(body: SetCatalogConfigRequest, tag: string | null): Promise<SavedConfig> {
  const headers: Record<string, string> = tag === null ? {} : { 'If-Match': tag }
  const answer = await api.send<SetCatalogConfigResult>('PUT', CONFIG_PATH, { body, headers })
  const { affected_pipelines: affected, config } = answer.body
  return { saved: { config, tag: answer.headers.get('ETag') }, affected: affected.map(({ id }) => id) }
}

/** Adds a catalog beside the default one. */
export async function addCatalog(body: SetCatalogConfigRequest): Promise<SavedConfig> {
  const answer = await api.send<CatalogAnswer>('POST', CATALOGS_PATH, { body })
  return { saved: taggedConfig(answer), affected: [] }
}

/** Changes a catalog beside the default one; refused with 412 if it has changed since it was read. */
export async function changeCatalog(body: SetCatalogConfigRequest, tag: string | null): Promise<SavedConfig> {
  const headers: Record<string, string> = tag === null ? {} : { 'If-Match': tag }
  const answer = await api.send<ChangedCatalogAnswer>('PUT', catalogPath(body.catalog_name), { body, headers })
  return { saved: taggedConfig(answer), affected: answer.body.affected_pipelines.map(({ id }) => id) }
}

function taggedConfig({ body, headers }: ApiAnswer<CatalogAnswer>): TaggedConfig {
  return { config: body.catalog.settings, tag: headers.get('ETag') }
}

/** The catalog as it was when a dialog was opened to remove it: only the next opening reads it again. */
export const removedCatalogQuery = (name: string, opening: number) =>
  queryOptions({
    queryKey: ['catalog to remove', name, opening],
    queryFn: ({ signal }) => readCatalog(name, signal),
    staleTime: Infinity,
    gcTime: 0,
  })

/**
 * Removes a catalog beside the default one from the service; refused with 409 while pipelines use it, and with 412 if
 * it has changed since it was read.
 */
export async function removeCatalog(name: string, tag: string | null): Promise<unknown> {
  const headers: Record<string, string> = tag === null ? {} : { 'If-Match': tag }
  try {
    return await api.del(catalogPath(name), { headers })
  } catch (error) {
    if (!hasCode(error, 'PRECONDITION_FAILED')) throw error
    throw new ApiError(412, { code: 'PRECONDITION_FAILED', detail: catalogStrings.removal.changed(name) })
  }
}

/** The pipelines that use tables of a catalog beside the default one and must stop before its removal. */
export const catalogUsersQuery = (name: string) =>
  queryOptions({
    queryKey: ['pipelines', 'of catalog', name],
    queryFn: async ({ signal }) => (await allPipelines(signal)).filter((pipeline) => isUser(pipeline, name)),
  })

function isUser({ state, source_tables: sources, sink_table: sink, ...others }: Pipeline, name: string): boolean {
  if (state === 'stopped' || state === 'failed') return false
  const tables = [...sources, sink, ...others.lookup_tables, ...others.divert_tables]
  return tables.some((table) => catalogOf(table) === name)
}

async function allPipelines(signal: AbortSignal): Promise<readonly Pipeline[]> {
  const pipelines: Pipeline[] = []
  let token: string | null = null
  do {
    const query = { page_size: PAGE_SIZE, page_token: token }
    const page: PipelineList = await api.get('/api/pipelines', { query, signal })
    pipelines.push(...page.pipelines)
    token = page.next_page_token
  } while (token !== null)
  return pipelines
}

/** Tests the connection of a configured catalog. Takes up to a minute. */
export function testCatalog(name: string): Promise<ConnectionTest> {
  return api.post<ConnectionTest>(`${catalogPath(name)}/test`)
}

/** Tests the connection of a catalog with these settings, which are not stored. Takes up to a minute. */
export function testConfig(body: SetCatalogConfigRequest): Promise<ConnectionTest> {
  return api.post<ConnectionTest>(`${CONFIG_PATH}/test`, body)
}

/** Tokens, newest first, page by page; for leads. */
export const tokensQuery = infiniteQueryOptions({
  queryKey: ['tokens'],
  queryFn: ({ pageParam, signal }) =>
    fetchPage<Token>('/api/auth/tokens', { query: { page_size: PAGE_SIZE, page_token: pageParam }, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next }) => next,
})

/** A request for a new token, with the token of the caller: a session alone may not create tokens. */
export interface ProvenTokenRequest {
  readonly request: CreateTokenRequest
  /** Undefined where authentication is off. */
  readonly proof: string | undefined
}

/** Creates a token; only this response contains it. */
export async function createToken({ request, proof }: ProvenTokenRequest): Promise<CreatedToken> {
  const headers = proof === undefined ? {} : { Authorization: `Bearer ${proof}` }
  try {
    return await api.post<CreatedToken>('/api/auth/tokens', request, { headers })
  } catch (error) {
    // The session goes on: only the token that was entered is wrong.
    if (error instanceof ApiError && error.status === 401) {
      throw new ApiError(403, { code: 'FORBIDDEN', detail: tokenStrings.form.proofRefused })
    }
    throw error
  }
}

/** Revokes a token immediately. */
export function revokeToken(id: string): Promise<undefined> {
  return api.del(`/api/auth/tokens/${encodeURIComponent(id)}`)
}
