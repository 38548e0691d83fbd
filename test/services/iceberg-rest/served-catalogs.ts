import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Hono } from 'hono'
import { createSqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import { openState } from '../../../src/context/open-state.ts'
import { createIdSource } from '../../../src/domain/ids.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { Exchange } from '../../../src/middleware/exchange.ts'
import { HeaderMap } from '../../../src/middleware/connection/header-map.ts'
import type { AppEnv } from '../../../src/middleware/app-env.ts'
import { belowBasePath } from '../../../src/middleware/base-path.ts'
import { mountIcebergRest } from '../../../src/routes/iceberg-rest/mount-iceberg-rest.ts'
import { detectRuntime } from '../../../src/server/detect-runtime.ts'
import { prepareHome } from '../../../src/server/home.ts'
import { createIcebergRestService } from '../../../src/services/iceberg-rest/iceberg-rest-service.ts'
import { createTableReports } from '../../../src/services/iceberg-rest/table-reports.ts'
import { createLogger } from '../../../src/services/logger.ts'
import { createIdempotencyService } from '../../../src/services/operations/idempotency-service.ts'
import { createIdempotencyStore } from '../../../src/storage/stores/idempotency-store.ts'
import { createPipelineStore } from '../../../src/storage/stores/pipelines/pipeline-store.ts'
import { createTableReportStore } from '../../../src/storage/stores/tables/report-store.ts'
import { createPipelineGuard } from '../../../src/streaming/supervision/pipeline-guard.ts'
import { openSqlDatabase } from '../../catalog/support.ts'

/** The Iceberg REST protocol over any number of SQL catalogs, on one socket of loopback and one state database. */
export interface ServedCatalogs {
  /** Creates a catalog named `lake` over a folder, and returns the address of its protocol. */
  add(folder: string): string
  close(): Promise<void>
}

/** Starts {@link ServedCatalogs} over a folder of its own; callers need no token. */
export async function serveCatalogs(folder: string): Promise<ServedCatalogs> {
  const now = (): Date => new Date()
  const log = createLogger('silent', () => undefined)
  const { openStateFile, serve } = await detectRuntime()
  const home = await prepareHome(join(folder, 'home'))
  const config = { databaseUrl: undefined, auditKey: undefined }
  const state = await openState({ config, home, openStateFile, log, now })
  const newId = createIdSource(
    () => Date.now(),
    (length) => crypto.getRandomValues(new Uint8Array(length)),
  )
  const idempotency = createIdempotencyService({
    store: createIdempotencyStore(state),
    now,
    log,
  })
  const reports = createTableReports({ store: createTableReportStore(state.db), newId, now })
  const environments = { list: async () => [] }
  const apps: ReturnType<typeof belowBasePath>[] = []
  const catalogs: { close(): Promise<void> }[] = []

  function add(lake: string): string {
    mkdirSync(join(lake, 'warehouse'), { recursive: true })
    const db = openSqlDatabase(join(lake, 'catalog.db'))
    const io = new LocalFileIO({ roots: [lake] })
    const catalog = createSqlCatalog({ db, name: 'lake', warehouse: join(lake, 'warehouse'), io, roots: [lake] })
    catalogs.push(catalog)
    const current = (): typeof catalog => catalog
    const store = createPipelineStore(state.db)
    const guard = createPipelineGuard({ store, catalog: current, checkpointIo: io })
    const icebergRest = createIcebergRestService({
      ...state,
      catalog: { current, others: () => [] },
      guard,
      environments,
      reports,
    })
    const app = new Hono<AppEnv>()
    const identity = {} as never // not asked without authentication
    mountIcebergRest(app, { log, authMode: 'off', identity, allowedOrigins: [], icebergRest, idempotency })
    const path = `/c${apps.length}`
    apps.push(
      belowBasePath(path, (request, connection) =>
        app.fetch(
          request,
          new Exchange({
            request,
            headers: new HeaderMap(request.headers),
            connection,
            requestId: newId('req'),
            trustedProxies: [],
          }),
        ),
      ),
    )
    return `http://127.0.0.1:${server.port}${path}/iceberg`
  }

  const server = await serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, connection) {
      const at = Number(/^\/c(\d+)\//.exec(new URL(request.url).pathname)?.[1])
      return (await apps[at]?.(request, connection)) ?? new Response(null, { status: 404 })
    },
  })
  return {
    add,
    async close() {
      await server.stop(false)
      for (const catalog of catalogs) await catalog.close()
      await state.close()
      home.release()
    },
  }
}
