import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ModelProvider, startModelProvider } from '../support/model-provider/model-provider.ts'
import { says } from '../support/model-provider/reply.ts'
import { accessibilityBreaches, chromiumPath } from './support/browser.ts'
import { useJourney } from './support/journey.ts'

const ANSWER = `# Health of demo.events

The score is **60**: *many small files*[^1], in \`data/\`. See [the table](/tables/demo.events) and
[how to compact](https://docs.example/compact).

- [x] read the table
- [ ] compact it

| Factor | Value |
|---|--:|
| Small files | 240 |

\`\`\`sql
CALL system.rewrite_data_files('demo.events')
\`\`\`

![chart](https://images.example/chart.png) <img src="https://images.example/pixel.png" onerror="alert(1)">
[secret](javascript:alert(1)) https://bare.example

[^1]: 240 files of 11 KiB.
`

describe.skipIf(chromiumPath === undefined)('agent answers on the web page', () => {
  let provider: ModelProvider
  beforeAll(async () => {
    provider = await startModelProvider()
  })
  afterAll(() => provider.close())
  const journey = useJourney(() => ({ env: { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: provider.url } }))

  it('are rendered as Markdown, and load and run nothing', async () => {
    provider.script = [says(ANSWER)]
    const page = await journey.signIn()
    const elsewhere: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(journey.house.url)) elsewhere.push(request.url())
    })
    page.on('dialog', (dialog) => elsewhere.push(dialog.message()))
    await ask(page, 'How is demo.events?')
    await page.getByRole('heading', { name: 'Health of demo.events' }).waitFor()
    const answer = page.getByRole('group', { name: 'Conversation' })
    expect(await answer.getByRole('checkbox', { name: 'Done', exact: true }).isChecked()).toBe(true)
    await answer.getByRole('columnheader', { name: 'Factor' }).waitFor()
    await answer.getByRole('group', { name: 'Code, sql' }).waitFor()
    await answer.getByText('<img src="https://images.example/pixel.png"').waitFor()
    expect(await answer.locator('img').count()).toBe(0)
    const links = await answer.getByRole('link').evaluateAll((all) => all.map((link) => link.getAttribute('href')))
    expect(links.filter((address) => !address?.startsWith('#'))).toEqual([
      '/tables/demo.events',
      'https://docs.example/compact',
      'https://bare.example',
    ])
    await answer.getByText('(https://docs.example/compact)').waitFor()
    expect(elsewhere).toEqual([])
    expect(await accessibilityBreaches(page)).toEqual([])
    const opened = page.waitForEvent('popup')
    await answer.getByRole('link', { name: 'the table' }).click()
    const tab = await opened
    await tab.getByRole('heading', { name: 'demo.events' }).waitFor()
    expect(await tab.evaluate('opener')).toBe(null)
  })

  it('do not block the page, even if they are slow to parse', async () => {
    provider.script = [says(`${'*_'.repeat(10_000)} end`), says(`${'> '.repeat(5000)} end`)]
    const page = await journey.signIn()
    for (const prompt of ['first', 'second']) {
      await ask(page, prompt)
      await page.getByRole('heading', { name: prompt }).waitFor()
      await page.getByText(/ end$/).last().waitFor()
    }
    await page.reload()
    await page.getByText(/^(> ){100}/).waitFor()
    await expect.poll(() => page.locator('blockquote').count()).toBe(0) // shown as plain text
  })
})

async function ask(page: Page, prompt: string): Promise<void> {
  if (!page.url().includes('/agent')) await page.getByRole('link', { name: 'Agent' }).click()
  await page.getByRole('textbox', { name: 'Question' }).fill(prompt)
  await page.getByRole('button', { name: 'Send' }).click()
}
