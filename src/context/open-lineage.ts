import type { SqlSandbox } from '../engines/sql-sandbox.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { EnvironmentService } from '../services/environments/environment-service.ts'
import { createLineageService, type LineageService } from '../services/lineage/lineage-service.ts'
import { createPipelineStore } from '../storage/stores/pipeline-store.ts'
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
