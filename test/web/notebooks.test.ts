import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { afterAll, describe, expect, it } from 'vitest'
import { startTestCluster, type TestCluster } from '../support/kubernetes-api/test-cluster.ts'
import { chromiumPath } from './support/browser.ts'
import { useJourney } from './support/journey.ts'

/** Port of a notebook's container; the address of its pod is that of this machine. */
const NOTEBOOK_PORT = 8888

describe.skipIf(chromiumPath === undefined)('notebooks on the web page', () => {
  describe('without a cluster', () => {
    const journey = useJourney(() => ({ env: { LOCKHOUSE_DEMO: '0' } }))

    it('are not in the navigation, and their page explains why', async () => {
      const page = await journey.signIn()
      await page.getByRole('link', { name: 'Agent' }).waitFor()
      expect(await page.getByRole('link', { name: 'Notebook' }).count()).toBe(0)
      await page.goto(`${journey.house.url}/notebooks`)
      await page.getByText('Notebooks are not available').waitFor()
    })
  })

  describe('with a cluster', () => {
    let cluster: TestCluster
    let notebook: Server
    const journey = useJourney(async () => {
      cluster = await startTestCluster({ stepMs: 400 })
      notebook = createServer((_request, response) => {
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>Lab</title><h1>A notebook of ana</h1>')
      })
      notebook.listen(NOTEBOOK_PORT, '127.0.0.1')
      await once(notebook, 'listening')
      return { env: { ...cluster.env, LOCKHOUSE_DEMO: '0', NOTEBOOK_ADDRESS: 'pod-ip' } }
    })
    afterAll(async () => {
      notebook?.close()
      notebook?.closeAllConnections()
      await cluster?.close()
    })

    it('are started, opened and stopped', async () => {
      const page = await journey.signIn(await journey.house.addUser('ana', 'DataEngineer'))
      await page.getByRole('link', { name: 'Notebook' }).click()
      await page.getByText('Not started').waitFor()
      await page.getByRole('button', { name: 'Start notebook' }).click()
      await page.getByText('Starting', { exact: true }).waitFor()
      await page.getByText('Running', { exact: true }).waitFor()
      expect(cluster.api.names('pods')).toHaveLength(1)

      const opened = page.waitForEvent('popup')
      await page.getByRole('link', { name: 'Open in a new tab' }).click()
      const lab = await opened
      await lab.getByRole('heading', { name: 'A notebook of ana' }).waitFor()
      const { hostname, pathname } = new URL(lab.url())
      expect([hostname, pathname]).toEqual(['ana.notebooks.localhost', '/notebook/ana/'])

      await page.getByRole('button', { name: 'Stop notebook' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Running cells are interrupted. Variables in memory are lost.').waitFor()
      await dialog.getByRole('button', { name: 'Stop notebook' }).click()
      await page.getByText('Not started').waitFor()
      await expect.poll(() => cluster.api.names('pods'), { timeout: 60_000 }).toEqual([])
    })

    it('that fail to start show the error of the cluster', async () => {
      cluster.api.life = 'image-pull'
      const page = await journey.signIn(await journey.house.addUser('bo', 'DataEngineer'), { at: '/notebooks' })
      await page.getByRole('button', { name: 'Start notebook' }).click()
      await page.getByText(/pull/i).first().waitFor()
      expect(await page.locator('a[href^="/notebook/"]').count()).toBe(0)
    })

    it('are available to engineers only', async () => {
      const page = await journey.signIn(await journey.house.addUser('cleo', 'Auditor'), { at: '/notebooks' })
      await page.getByText('Permission denied').waitFor()
      expect(await page.getByRole('link', { name: 'Notebook' }).count()).toBe(0)
    })
  })
})
