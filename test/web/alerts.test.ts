import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReceiver, isSigned, startFakeReceiver } from '../support/network/fake-receiver.ts'
import { accessibilityBreaches, chromiumPath } from './support/browser.ts'
import { useJourney } from './support/journey.ts'

describe.skipIf(chromiumPath === undefined)('alerts on the web page', () => {
  const journey = useJourney(() => ({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } }))
  let receiver: FakeReceiver
  beforeAll(async () => {
    receiver = await startFakeReceiver()
  })
  afterAll(() => receiver.close())
  const alerts = async () => (await journey.house.call('GET', '/api/alerts')).alerts

  it('are created from a checked form, and a test message arrives', async () => {
    const page = await journey.signIn(undefined, { at: '/settings/alerts' })
    await page.getByText('No alerts', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'New alert' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Wait before notifying').fill('soon')
    await dialog.getByRole('button', { name: 'Save alert' }).click()
    await dialog.getByText('Must be a number and a unit, such as 10 minutes.').waitFor()
    expect(await dialog.getByText('Required.').count()).toBe(2)
    expect(await accessibilityBreaches(page)).toEqual([])
    await dialog.getByLabel('Name').fill('on call')
    await dialog.getByLabel('Wait before notifying').fill('')
    await dialog.getByLabel('URL').fill(receiver.url)
    await dialog.getByRole('button', { name: 'Save alert' }).click()
    await dialog.waitFor({ state: 'hidden' })
    expect(await alerts()).toMatchObject([
      {
        name: 'on call',
        events: ['pipeline.failed', 'pipeline.degraded', 'table.unhealthy'],
        cooldown: '1 hour',
        channel: { type: 'slack', url: '***' },
      },
    ])
    await page.getByRole('button', { name: 'Send a test message of on call' }).click()
    await receiver.until(1)
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toHaveProperty('blocks')
    await page.getByText(/^Test message sent to /).waitFor()
    await page.getByRole('row', { name: /on call/ }).click()
    await page.getByRole('row', { name: /Delivered Test/ }).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await page.goto(journey.house.start)
    const card = page.getByRole('region', { name: 'Alerts' })
    await card.getByText('No active alerts. 1 alert configured.').waitFor()
    await card.getByRole('link', { name: 'All alerts' }).click()
    await page.getByRole('row', { name: /on call/ }).waitFor()
  })

  it('are changed, silenced and deleted; a stored address stays when the form shows only stars', async () => {
    const page = await journey.signIn(undefined, { at: '/settings/alerts' })
    await page.getByRole('button', { name: 'Edit on call' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByLabel('URL').inputValue()).toBe('***')
    await dialog.getByLabel('Events').fill('operation.failed')
    await dialog.getByRole('button', { name: 'Save alert' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Silence on call for one hour' }).click()
    await page.getByText('Silenced').first().waitFor()
    await page.getByRole('button', { name: 'End the silence of on call' }).click()
    await page.getByRole('button', { name: 'Silence on call for one hour' }).waitFor()
    await page.getByRole('button', { name: 'Send a test message of on call' }).click()
    await receiver.until(2)
    expect(await alerts()).toMatchObject([{ events: ['operation.failed'], silenced_until: null }])
    receiver.replies = [404]
    await page.getByRole('button', { name: 'Send a test message of on call' }).click()
    await page.getByText(/^The test message was not sent: /).waitFor()
    await page.getByRole('button', { name: 'Delete on call' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No alerts', { exact: true }).waitFor()
    expect(await alerts()).toEqual([])
  })
  it('are created with a signed channel, whose secret is shown once and signs each event', async () => {
    const page = await journey.signIn(undefined, { at: '/settings/alerts' })
    await page.getByRole('button', { name: 'New alert' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('receiver')
    await dialog.getByLabel('Events').fill('operation.*')
    await dialog.getByLabel('Cooldown').fill('')
    await dialog.getByLabel('Send to').selectOption('Webhook')
    await dialog.getByLabel('URL').fill(receiver.url)
    await dialog.getByRole('button', { name: 'Save alert' }).click()
    await dialog.getByText('Copy the secret now').waitFor()
    const secret = await dialog.getByRole('textbox', { name: 'Secret' }).inputValue()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await dialog.waitFor({ state: 'hidden' })
    receiver.received.length = 0
    receiver.replies = []
    await journey.house.call('POST', '/api/compact', { table: 'no.such' }).catch(() => undefined)
    await receiver.until(3)
    const types = receiver.received.map(({ body }) => JSON.parse(body).type)
    expect(types.sort()).toEqual(['operation.failed', 'operation.finished', 'operation.started'])
    for (const message of receiver.received) expect(isSigned(message, secret)).toBe(true)
    await page.getByRole('row', { name: /receiver/ }).click()
    await page.getByRole('row', { name: /^Delivered Problem operation\.started .* 1 200/ }).waitFor()
    expect(await page.content()).not.toContain(secret)
    expect(await accessibilityBreaches(page)).toEqual([])
  })
})
