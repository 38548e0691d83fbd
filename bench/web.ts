// The web page in Chromium, against the real service: script of the first load, frames while lists of 10,000 tables and of
// 200 running pipelines are scrolled, the time from a keystroke or click to the frame that shows the result, and how long
// each page is blocked while it loads (`npm run bench -- web blocking [part of a page's name]` measures only that).
import { cpus, loadavg } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { parseSchema } from '../src/iceberg/schema/schema.ts'
import { type Lakehouse, openLakehouse } from '../test/interop/harness/lakehouse.ts'
import { openBrowser, visit } from '../test/web/support/browser.ts'
import { type House, startHouse } from '../test/web/support/house.ts'
import { PAGES } from '../test/web/support/page-list.ts'
import { makeScene } from '../test/web/support/scene.ts'
import { type FrameReport, watchInput, watchResting, watchScrolling } from './support/frame-watch.ts'
import { makeLargeDefinition, type MeasuredPage, multiplySnapshots } from './support/blocking-pages.ts'
import { type Clock, watchBlocking } from './support/blocking-time.ts'
import { median, note, printTable } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const TABLES = Number(process.env['BENCH_TABLES'] ?? 10_000)
const PIPELINES = Number(process.env['BENCH_PIPELINES'] ?? 200)
const SCROLL_MS = Number(process.env['BENCH_MS'] ?? 5000)
/** At 60 Hz, a frame is in time if it takes at most this long, ms: 16.7 plus a margin for the clock's rounding. */
const FRAME_MS = 17.5
const SOURCE = { namespace: ['bench'], name: 'source' }
/** CPU slowdown for the blocking times, relative to this machine. */
const SLOWDOWN = 4
/** Maximum time that a page may be blocked while it loads, ms. */
const BLOCKING_GOAL_MS = 150
const BLOCKING_LOADS = Number(process.env['BENCH_LOADS'] ?? 3)
const SNAPSHOTS = 5000
const NODES = 80

interface Measured {
  readonly name: string
  readonly frames?: FrameReport
  /** ms from each input to the frame after it; those under 16 ms are not reported. */
  readonly inputs?: readonly number[]
}

if (process.argv[2] !== 'blocking') await withWorkFolder('web', measureFrames)
await withWorkFolder('web', measureBlocking)

async function measureFrames(folder: string): Promise<void> {
  const lakehouse = await makeLakehouse(folder)
  const house = await startHouse({ env: { LOCKHOUSE_DEMO: '0' } })
  const browser = await openBrowser()
  try {
    await house.call('PUT', '/api/config', lakehouse.settings)
    const bytes = await firstLoad(browser, house)
    const { page } = await visit(browser)
    await page.goto(house.link)
    await page.waitForURL(house.start)
    await page.goto(`${house.url}/tables`)
    const measured = [await blank(page), ...(await tables(page)), ...(await pipelines(page, house))]
    report(bytes, measured)
  } finally {
    await browser.close()
    await house.close()
    await lakehouse.close()
  }
}

/** Blocking time of every page of the demo lakehouse, and of pages with much content. */
async function measureBlocking(folder: string): Promise<void> {
  const lakehouse = await makeLakehouse(folder, 0)
  multiplySnapshots(folder, SOURCE.name, SNAPSHOTS)
  const large = await startHouse({ env: { LOCKHOUSE_DEMO: '0' } })
  const demo = await startHouse()
  const browser = await openBrowser()
  try {
    await large.call('PUT', '/api/config', lakehouse.settings)
    const scene = await makeScene(demo)
    const largePages: readonly MeasuredPage[] = [
      {
        name: `table-snapshots, ${SNAPSHOTS} snapshots`,
        path: '/tables/bench.source?tab=snapshots',
        text: 'append',
      },
      ...(await makeLargeDefinition(large, NODES)),
    ]
    const demoPages = PAGES.filter(([name]) => name !== 'notebook') // needs a cluster
    const rows = [
      ...(await blockingRows(browser, large, largePages)),
      ...(await blockingRows(
        browser,
        demo,
        demoPages.map(([name, path, text]) => ({ name, path: path(scene), text })),
      )),
    ]
    printTable(
      `Total blocking time of the loads of pages at ${SLOWDOWN}× CPU slowdown, median (maximum) of ${BLOCKING_LOADS} loads; ` +
        `goal: under ${BLOCKING_GOAL_MS} ms after the first paint; ${cpus().length} processors, ` +
        `load average ${loadavg()[0]?.toFixed(1)}`,
      ['page', 'blocked', 'including before the first paint', 'by processor time', 'goal'],
      rows,
    )
  } finally {
    await browser.close()
    await Promise.all([large.close(), demo.close()])
    await lakehouse.close()
  }
}

async function blockingRows(
  browser: Browser,
  { url, link, start }: House,
  pages: readonly MeasuredPage[],
): Promise<readonly (readonly string[])[]> {
  const { page, close } = await visit(browser)
  await page.goto(link)
  await page.waitForURL(start)
  const rows: string[][] = []
  for (const { name, path, text } of pages.filter((one) => one.name.includes(process.argv[3] ?? ''))) {
    note(name)
    const load = async (): Promise<void> => {
      await page.goto(url + path, { waitUntil: 'commit' })
      await setTimeout(2500) // whoever waits for something on the page has it work
    }
    await load()
    await page.getByText(text).filter({ visible: true }).first().waitFor()
    const watch = async (clock: Clock) => {
      const loads = []
      for (let i = 0; i < BLOCKING_LOADS; i++)
        loads.push(await watchBlocking(page, { slowdown: SLOWDOWN, clock }, load))
      return loads
    }
    const wall = await watch('wall')
    const blocked = wall.map(({ afterPaintMs }) => afterPaintMs)
    rows.push([
      name,
      `${ms(median(blocked))} (${ms(Math.max(...blocked))})`,
      ms(median(wall.map(({ allMs }) => allMs))),
      ms(median((await watch('processor')).map(({ afterPaintMs }) => afterPaintMs))),
      median(blocked) < BLOCKING_GOAL_MS ? 'met' : 'missed',
    ])
  }
  await close()
  return rows
}

/** A small table whose metadata file is also registered under `count` more names. */
async function makeLakehouse(folder: string, count = TABLES): Promise<Lakehouse> {
  note(`making ${count} tables`)
  const lakehouse = await openLakehouse(folder)
  await lakehouse.catalog.createNamespace(SOURCE.namespace)
  const fields = [
    { id: 1, name: 'id', required: false, type: 'long' },
    { id: 2, name: 'kind', required: false, type: 'string' },
  ]
  await lakehouse.catalog.createTable(SOURCE, { schema: parseSchema({ type: 'struct', 'schema-id': 0, fields }) })
  const { metadataLocation } = await lakehouse.append(
    SOURCE,
    `select i::bigint as c1, 'kind ' || (i % 5) as c2 from range(0, 100) t(i)`,
  )
  const database = new DatabaseSync(`${folder}/catalog.db`)
  const insert = database.prepare(
    `insert into iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type)
     values ('lockhouse', 'bench', ?, ?, 'TABLE')`,
  )
  database.exec('begin')
  for (let i = 0; i < count; i++) insert.run(`table_${String(i).padStart(5, '0')}`, metadataLocation)
  database.exec('commit')
  database.close()
  return lakehouse
}

/** Compressed bytes of script that a first visit loads, up to the overview. */
async function firstLoad(browser: Browser, house: House): Promise<number> {
  const { page, close } = await visit(browser)
  await page.goto(house.link)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.waitForTimeout(500)
  const bytes = await page.evaluate<number>(`performance.getEntriesByType('resource')
    .filter(({ name }) => new URL(name).pathname.endsWith('.js'))
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`)
  await close()
  return bytes
}

/** The frame times of this machine's Chromium on an idle page: no page can be better. */
async function blank(page: Page): Promise<Measured> {
  await page.getByRole('grid').waitFor()
  await page.waitForTimeout(2000)
  return { name: 'list of tables, at rest', frames: await watchResting(page, SCROLL_MS) }
}

async function tables(page: Page): Promise<readonly Measured[]> {
  note('tables')
  const frames = await watchScrolling(page, SCROLL_MS)
  const filter = page.getByPlaceholder('Filter by name')
  await filter.click()
  const typed = await watchInput(page, () => page.keyboard.type('table_0999', { delay: 150 }))
  await page.waitForTimeout(500)
  const row = page.getByRole('row').nth(3)
  const clicked = await watchInput(page, () => row.click())
  await page.waitForURL(/\/tables\/bench/)
  await page.goBack()
  return [
    { name: `list of ${TABLES} tables, scrolled`, frames },
    { name: `filter of ${TABLES} tables, 10 keystrokes`, inputs: typed },
    { name: 'click on a table', inputs: clicked },
  ]
}

async function pipelines(page: Page, { url, call }: House): Promise<readonly Measured[]> {
  note(`starting ${PIPELINES} pipelines`)
  for (let i = 0; i < PIPELINES; i++) {
    await call('POST', '/api/pipeline/start', {
      source_table: 'bench.source',
      sink_table: `bench.sink_${String(i).padStart(3, '0')}`,
      create_sink_table: true,
      checkpoint_location: `checkpoints/sink_${i}`,
      trigger_interval: '2 seconds',
    })
  }
  await page.goto(`${url}/pipelines`)
  await page.getByRole('row').nth(5).waitFor()
  await page.waitForTimeout(10_000) // first batches
  const resting = await watchResting(page, SCROLL_MS)
  const frames = await watchScrolling(page, SCROLL_MS)
  await page.getByPlaceholder('Table, checkpoint or id').click()
  const typed = await watchInput(page, () => page.keyboard.type('sink_01', { delay: 150 }))
  const row = page.getByRole('row').nth(3)
  const clicked = await watchInput(page, () => row.click())
  await page.waitForURL(/\/pipelines\/pipe-/)
  return [
    { name: `${PIPELINES} running pipelines, live`, frames: resting },
    { name: `${PIPELINES} running pipelines, scrolled`, frames },
    { name: `filter of ${PIPELINES} pipelines, 7 keystrokes`, inputs: typed },
    { name: 'click on a pipeline', inputs: clicked },
  ]
}

function report(bytes: number, measured: readonly Measured[]): void {
  const load = loadavg()[0]?.toFixed(1)
  printTable(
    `The web page in Chromium without a GPU, ${cpus().length} processors, load average ${load}; ` +
      `first load ${(bytes / 1000).toFixed(0)} kB of compressed script`,
    [
      '',
      'median frame',
      'p99 frame',
      'frames in time',
      'long tasks',
      'main thread per frame',
      'input to frame, median (maximum)',
    ],
    measured.map(({ name, frames, inputs }) => [
      name,
      ...(frames ? frameCells(frames) : ['', '', '', '', '']),
      inputs ? inputCell(inputs) : '',
    ]),
  )
}

function frameCells({ frames, longTasks, mainThreadMs }: FrameReport): string[] {
  const p99 = frames[Math.min(frames.length - 1, Math.floor(frames.length * 0.99))] ?? Number.NaN
  const smooth = frames.filter((ms) => ms <= FRAME_MS).length / frames.length
  return [ms(median(frames)), ms(p99), `${(smooth * 100).toFixed(1)} %`, String(longTasks.length), ms(mainThreadMs)]
}

function inputCell(inputs: readonly number[]): string {
  return inputs.length === 0 ? 'under 16 ms' : `${ms(median(inputs))} (${ms(Math.max(...inputs))})`
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}
