import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Jupyter, startJupyter, Wire } from '../../support/jupyter/server.ts'
import { openBrowser } from '../harness/browser.ts'
import { chromiumAvailable, JUPYTER, jupyterAvailable, NotebookHouse, RUNTIMES } from '../harness/notebook-house.ts'

const SUITE = 'JupyterLab in a browser'
const available = [jupyterAvailable(SUITE), chromiumAvailable(SUITE)].every(Boolean)

const NOTEBOOK = {
  cells: [
    { cell_type: 'code', execution_count: null, id: 'a', metadata: {}, outputs: [], source: "print('it is', 6*7)" },
    {
      cell_type: 'code',
      execution_count: null,
      id: 'b',
      metadata: {},
      outputs: [],
      source: "from IPython.display import HTML\nHTML('<b id=shown>' + 'sh' + 'own</b>')",
    },
  ],
  metadata: { kernelspec: { name: 'python3', display_name: 'Python 3', language: 'python' } },
  nbformat: 4,
  nbformat_minor: 5,
}

const PLACES = [
  ...RUNTIMES.map((runtime) => ({ runtime, basePath: '' })),
  { runtime: 'bun', basePath: '/lake' },
] as const

describe.skipIf(!available).each(PLACES)(
  'JupyterLab in a browser, behind the proxy on $runtime, base path "$basePath"',
  (place) => {
    const { runtime, basePath } = place
    let jupyter: Jupyter
    let wire: Wire
    let house: NotebookHouse
    let browser: Browser
    let context: BrowserContext

    beforeAll(async () => {
      jupyter = await startJupyter(JUPYTER!, 'ana', basePath)
      wire = await Wire.to(jupyter.baseUrl)
      house = await NotebookHouse.start(runtime, {
        notebooks: { ana: { baseUrl: wire.baseUrl, token: jupyter.token } },
        env: { BASE_PATH: basePath },
      })
      browser = await openBrowser()
      context = await browser.newContext()
      const [name = '', value = ''] = house.answer.visitors['ana']!.cookie.split('=')
      await context.addCookies([{ name, value, url: house.origin, httpOnly: true, sameSite: 'Strict' }])
    })
    afterAll(async () => {
      await browser?.close()
      await house?.stop()
      await wire?.close()
      await jupyter?.stop()
    })

    it('opens a notebook, runs its cells, saves it, and violates none of its content policy', async () => {
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/i.test(message.text())) complaints.push(message.text())
      })
      page.on('response', (response) => {
        if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`)
      })
      await page.goto(`${house.origin}${basePath}/notebook/ana/lab`)
      await page.waitForSelector('.jp-LauncherCard', { timeout: 120_000 })
      const saved = await page.evaluate(
        ([path, content]) =>
          fetch(path, { method: 'PUT', body: JSON.stringify({ type: 'notebook', content }) }).then(
            (response) => response.status,
          ),
        [`${basePath}/notebook/ana/api/contents/a.ipynb`, NOTEBOOK] as const,
      )
      expect(saved).toBe(201)
      await page.goto(`${house.origin}${basePath}/notebook/ana/lab/tree/a.ipynb`)
      await page.waitForSelector('.jp-Notebook .jp-CodeCell', { timeout: 120_000 })
      await page.waitForSelector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', { timeout: 120_000 })
      const runCell = async (at: number, output: string): Promise<void> => {
        // JupyterLab runs nothing while it still connects to the kernel, and may or may not show a dialog about it.
        for (let times = 0; times < 20 && (await page.locator(output).count()) === 0; times += 1) {
          for (const button of await page.locator('.jp-Dialog .jp-mod-accept').all()) await button.click()
          await page.click(`.jp-CodeCell >> nth=${at} >> .jp-InputArea-editor`)
          await page.keyboard.press('Control+Enter')
          await page.waitForSelector(output, { timeout: 5000 }).catch(() => undefined)
        }
        await page.waitForSelector(output)
      }
      await runCell(0, '.jp-OutputArea-output:has-text("it is 42")')
      await runCell(1, '#shown:has-text("shown")')
      await page.keyboard.press('Control+s')
      await page.waitForTimeout(2000)
      const stored = await page.evaluate(
        (path) => fetch(path).then((response) => response.text()),
        `${basePath}/notebook/ana/api/contents/a.ipynb`,
      )
      expect(stored).toContain('it is 42')
      expect(complaints).toEqual([])
    })
  },
)
