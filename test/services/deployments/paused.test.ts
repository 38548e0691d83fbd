import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { LONG } from '../../support/effort.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { copyQuery } from '../../../src/streaming/query/copy-query.ts'
import { LeaseLost } from '../../../src/streaming/pipeline-errors.ts'
import { PipelineSession } from '../../../src/streaming/run/pipeline-session.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import { FAST } from '../../streaming/support.ts'
import { type DeployLab, graphOf, openDeployLab, QUICK } from './deploy-lab.ts'
import { phaseHooks } from './phase-hooks.ts'

let lab: DeployLab
const { before, wrapTransactions } = phaseHooks(() => lab)
beforeAll(async () => {
  lab = await openDeployLab({ overrides: { streaming: FAST, deployments: { ...QUICK, wrapTransactions } } })
})
afterAll(() => lab.close())

/** The tables as seen by a process that pauses right before it swaps the pointer, until it is released. */
function pausing(): { catalog: Catalog; paused: Promise<void>; letGo: () => void } {
  const paused = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const inner = lab.lab.catalog()
  const commit: Catalog['commit'] = async (...args) => {
    paused.resolve()
    await released.promise
    return inner.commit(...args)
  }
  const catalog = new Proxy(inner, {
    get: (target, key: keyof Catalog) => {
      const member = key === 'commit' ? commit : target[key]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  return { catalog, paused: paused.promise, letGo: released.resolve }
}

interface Paused {
  /** Lets the process go on, and waits for the end of its batch. */
  readonly resume: () => Promise<void>
  readonly step: Promise<unknown>
}

/** A pipeline as another process has it that runs its next batch and pauses in the commit; its lease has then expired. */
async function pauseInCommit(pipelineId: string): Promise<Paused> {
  const database = new DatabaseSync(`${lab.lab.service.folder}/home/state.db`)
  const row = database.prepare('SELECT * FROM streaming_pipelines WHERE id = ?').get(pipelineId) ?? {}
  database.close()
  const { catalog, paused, letGo } = pausing()
  let isLost = false
  const deps = {
    catalog: () => catalog,
    tables: createTableWatch(lab.lab.catalog),
    engine: lab.lab.engine,
    checkpointIo: new LocalFileIO(),
    now: () => new Date(),
    checkLease() {
      if (isLost) throw new LeaseLost('taken over')
    },
  }
  const session = await PipelineSession.open(deps, {
    pipelineId,
    runId: String(row['run_id']),
    queryId: String(row['query_id']),
    sources: (JSON.parse(String(row['sources_json'])) as string[]).map(parseIdentifier),
    sink: parseIdentifier(String(row['sink_table'])),
    checkpointLocation: String(row['checkpoint_location']),
    triggerMs: 100,
    limits: { maxFiles: 10, maxBytes: 2 ** 30 },
    onDelete: 'fail',
    query: copyQuery(),
  })
  const step = session.step(new AbortController().signal)
  await paused
  isLost = true
  const ended = Promise.allSettled([step]) // a step that fails before it is awaited is no unhandled rejection
  return {
    step,
    async resume() {
      letGo()
      await ended
    },
  }
}

describe('a process that paused in a commit', { ...LONG, timeout: 180_000 }, () => {
  it('of the old version commits nothing after its offsets were carried over to a new checkpoint', async () => {
    await lab.tables('late')
    await lab.tables('late_more', 0)
    const place = await lab.define('late')
    await lab.deploy(place)
    const old = await lab.untilState(place, 'in_sync')
    await lab.untilCopied('late', 10)
    await lab.change('undeploy', place)
    await lab.untilState(place, 'none')
    await lab.append('late', 10, 20)
    const { resume, step } = await pauseInCommit(old.pipeline_id)
    before['starting'] = resume
    await lab.users.addVersion(place.definitionId, graphOf(['s.late_more_in', 's.late_in'], 's.late_out'))
    await lab.deploy(place)
    await lab.untilState(place, 'in_sync')
    await lab.untilCopied('late', 20)
    await expect(step).rejects.toBeInstanceOf(LeaseLost)
  })

  it('of the new version commits nothing after it was found to have no rows in the sink', async () => {
    await lab.tables('undone')
    const place = await lab.define('undone')
    await lab.deploy(place)
    const old = await lab.untilState(place, 'in_sync')
    await lab.untilCopied('undone', 10)
    await lab.users.addVersion(place.definitionId, graphOf(['s.undone_in'], 's.undone_out', "error('bad row') IS NULL"))
    let late: Paused | undefined
    before['watching'] = async () => {
      const { body } = await lab.lab.service.get('/api/pipelines')
      const { id } = body.pipelines.find(({ id }: { id: string }) => id !== old.pipeline_id)
      late = await pauseInCommit(id)
    }
    before['restoring'] = async () => late?.resume()
    await lab.deploy(place, 'development', { checkpoint: 'fresh' })
    await lab.untilState(place, 'rolled_back')
    await expect(late?.step).rejects.toBeInstanceOf(LeaseLost)
    await lab.append('undone', 10, 15)
    await lab.untilCopied('undone', 15)
  })
})
