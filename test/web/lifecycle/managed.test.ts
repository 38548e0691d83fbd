import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const OWNED = '?managed_by=team-lake'
const NOTICE = 'Managed by team-lake. Change it there.'
const POLICY = { tables: ['demo.*'], operations: [{ operation: 'compact' }], when: { health_below: 80 } }
const ALERT = { events: ['*.failed'], channel: { type: 'webhook', url: 'https://hooks.example.com/x' } }

describe.skipIf(chromiumPath === undefined)('objects that files describe, on the web page', () => {
  const journey = useJourney()
  const create = async (path: string, body: object): Promise<{ readonly id: string }> => {
    const made = await journey.house.call('POST', path, body)
    return made.definition ?? made
  }

  it('show their owner, and cannot be changed', async () => {
    const { house } = journey
    const definition = await create(`/api/pipeline-defs${OWNED}`, { name: 'from files', description: 'Copies.' })
    const policy = await create(`/api/policies${OWNED}`, { name: 'from files', ...POLICY })
    await create(`/api/alerts${OWNED}`, { name: 'from-files', ...ALERT })
    await create('/api/alerts', { name: 'by-hand', ...ALERT })
    await house.call('PUT', `/api/environments/qa${OWNED}`, { writes: ['demo.*'] })
    const page = await journey.signIn()

    await page.goto(`${house.url}/definitions/${definition.id}`)
    await page.getByText(`Copies. ${NOTICE}`).waitFor()
    await page.getByText('Read-only').waitFor()
    for (const name of [/^Edit/, /^Delete/, /^Save/]) expect(await page.getByRole('button', { name }).count()).toBe(0)

    await page.goto(`${house.url}/policies/${policy.id}/edit`)
    await page.getByText(NOTICE).waitFor()
    expect(await page.getByRole('textbox').count()).toBe(0)

    await page.goto(`${house.url}/environments`)
    await page.getByRole('region', { name: 'QA' }).getByText(NOTICE).waitFor()
    await page.getByRole('button', { name: 'Edit Production' }).waitFor()
    expect(await page.getByRole('button', { name: 'Edit QA' }).count()).toBe(0)

    await page.goto(`${house.url}/settings/alerts`)
    await page.getByText(NOTICE).waitFor()
    await page.getByRole('button', { name: /Delete.*by-hand/ }).waitFor()
    expect(await page.getByRole('button', { name: /Delete.*from-files/ }).count()).toBe(0)
  })
})
