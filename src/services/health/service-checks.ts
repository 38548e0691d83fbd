import { LocalFileIO } from '../../iceberg/io/local.ts'
import type { Engine } from '../../engines/engine.ts'
import type { OperationStore } from '../../storage/stores/operations/operation-store.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { HealthServiceDeps } from './health-service.ts'
import { createWriteProbe, isLocalFolder } from './write-probe.ts'

export interface ServiceCheckDeps {
  readonly operations: OperationStore
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly checkCluster: HealthServiceDeps['checks']['cluster']
  /** A folder next to the state database. */
  readonly scratch: string
  /** A monotonic clock. */
  readonly nowMs: () => number
}

/** The checks of {@link HealthServiceDeps}: of the state, the catalog, the engine and the notebook cluster. */
export function createServiceChecks(deps: ServiceCheckDeps): HealthServiceDeps['checks'] {
  const { operations, catalog, engine, checkCluster, scratch, nowMs } = deps
  const probe = { io: new LocalFileIO(), nowMs }
  const probeState = createWriteProbe(probe)
  const probeWarehouse = createWriteProbe(probe)
  return {
    async state() {
      await operations.list({}, { limit: 1 })
      return probeState(scratch)
    },
    async catalog() {
      if (!catalog.describe().configured) return 'not_configured'
      const current = catalog.current()
      await current.ping()
      return isLocalFolder(current.warehouse) ? probeWarehouse(current.warehouse) : undefined
    },
    engine: async () => ((await engine.ping()) === 'starting' ? 'starting' : undefined),
    cluster: checkCluster,
  }
}
