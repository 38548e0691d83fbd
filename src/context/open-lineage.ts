import type { Config } from '../config/config.ts'
import { VERSION } from '../config/version.ts'
import type { IdSource } from '../domain/ids.ts'
import type { SqlSandbox } from '../engines/sql-sandbox.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { EnvironmentService } from '../services/environments/environment-service.ts'
import { createLineageService, type LineageService } from '../services/lineage/lineage-service.ts'
import { createOpenLineageEmitter, type OpenLineageEmitter } from '../services/lineage/openlineage/emitter.ts'
import { createHttpSender } from '../services/outbound/http-sender.ts'
import { createPipelineStore } from '../storage/stores/pipelines/pipeline-store.ts'
import { createHealthIndexStore } from '../storage/stores/tables/health-index-store.ts'
import { createVersionStore } from '../storage/stores/version-store.ts'
import type { State } from './open-state.ts'

export interface LineageParts {
  readonly state: Pick<State, 'db'>
  readonly catalog: CatalogService
  readonly sandbox: SqlSandbox
  readonly environments: EnvironmentService
}

/** Creates the lineage over the state database. */
export function openLineage({ state: { db }, ...parts }: LineageParts): LineageService {
  return createLineageService({
    ...parts,
    pipelines: createPipelineStore(db),
    versions: createVersionStore(db),
    index: createHealthIndexStore(db),
  })
}

export interface OpenLineageParts {
  readonly state: Pick<State, 'db' | 'inTransaction'>
  readonly catalog: CatalogService
  readonly newId: IdSource
  readonly now: () => Date
}

/** Creates the sender of run events; undefined: `OPENLINEAGE_URL` is not set. The operator chooses its address, which may be private. */
export function openOpenLineage(
  { openLineage }: Pick<Config, 'openLineage'>,
  { state: { db, inTransaction }, ...parts }: OpenLineageParts,
): OpenLineageEmitter | undefined {
  if (openLineage === undefined) return undefined
  const send = createHttpSender({ allowPrivate: true })
  return createOpenLineageEmitter({
    ...parts,
    db,
    inTransaction,
    send,
    target: openLineage,
    producer: `urn:lockhouse:${VERSION}`,
  })
}
