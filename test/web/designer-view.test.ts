import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { NODE_SIZE } from '../../frontend/src/features/designer/auto-layout.ts'
import { chromiumPath } from './support/browser.ts'
import { useJourney } from './support/journey.ts'

const SOON = { timeout: 20_000 }

/** A chain of filters in a long line: wider than any screen at full size. */
function longGraph(count: number) {
  const nodes = Array.from({ length: count }, (_, at) => ({
    id: `n${at}`,
    type: at === 0 ? 'iceberg-source' : 'filter',
    config: at === 0 ? { table: 'demo.orders' } : { condition: 'total > 1' },
    position: { x: at * 700, y: (at % 7) * 400 },
  }))
  const edges = nodes.slice(1).map(({ id }, at) => ({ id: `e${at}`, source: `n${at}`, target: id }))
  return { nodes, edges }
}

/** The same in rows of ten. */
function gridGraph(count: number) {
  const { nodes, edges } = longGraph(count)
  const place = (at: number) => ({ x: (at % 10) * 240, y: Math.floor(at / 10) * 110 })
  return { nodes: nodes.map((node, at) => ({ ...node, position: place(at) })), edges }
}

const viewOf = (page: Page): Promise<string | null> => page.locator('.react-flow__viewport').getAttribute('style')

/** How many nodes are not wholly on the canvas. */
function hiddenNodes(page: Page): Promise<number> {
  return page.evaluate<number>(`(() => {
    const canvas = document.querySelector('.react-flow').getBoundingClientRect()
    return [...document.querySelectorAll('.react-flow__node')].filter((node) => {
      const { left, top, right, bottom } = node.getBoundingClientRect()
      return left < canvas.left - 1 || top < canvas.top - 1 || right > canvas.right + 1 || bottom > canvas.bottom + 1
    }).length
  })()`)
}

describe.skipIf(chromiumPath === undefined)('the view of the designer', () => {
  const journey = useJourney()

  async function openDefinition(name: string, graph: object): Promise<Page> {
    const page = await journey.signIn(undefined, { size: { width: 1280, height: 720 } })
    const { definition } = await journey.house.call('POST', '/api/pipeline-defs', { name, description: '', ...graph })
    await page.goto(`${journey.house.url}/definitions/${definition.id}`)
    await page.getByRole('button', { name: 'Validate' }).waitFor()
    return page
  }

  it('has the result of a validation on the screen, with every problem within reach', async () => {
    const page = await openDefinition('Broken', longGraph(12))
    await page.getByRole('button', { name: 'Validate' }).click()
    const result = page.getByRole('region', { name: 'Validation' })
    await result.getByText(/^Invalid: /).waitFor()
    const box = await result.boundingBox()
    expect(box?.y ?? 0).toBeGreaterThan(0)
    expect((box?.y ?? 720) + (box?.height ?? 0)).toBeLessThan(720)
    const verdict = await result.getByText(/^Invalid: /).boundingBox()
    expect((verdict?.y ?? 720) + (verdict?.height ?? 0)).toBeLessThan(500)
    await result.getByRole('button', { name: 'Close validation result' }).click()
    await expect.poll(() => result.getByText(/^Invalid: /).count(), SOON).toBe(0)
  })

  it('draws a large graph with all its edges, and shows all of it', async () => {
    const page = await openDefinition('Large', gridGraph(60))
    await expect.poll(() => page.locator('.react-flow__node').count(), SOON).toBe(60)
    await expect.poll(() => page.locator('.react-flow__edge').count(), SOON).toBe(59)
    expect(await hiddenNodes(page)).toBe(0)
    // The size that the canvas takes nodes to have, so that it need not measure them.
    const sizes = await page.evaluate<unknown>(
      `[...document.querySelectorAll('.react-flow__node')].map((node) => node.offsetWidth + ' × ' + node.offsetHeight)`,
    )
    expect(sizes).toEqual(Array.from({ length: 60 }, () => `${NODE_SIZE.width} × ${NODE_SIZE.height}`))
  })

  it('shows all nodes after they are arranged', async () => {
    const page = await openDefinition('Long', longGraph(12))
    await page.locator('.react-flow__node').first().waitFor()
    const zoomIn = page.getByRole('button', { name: 'Zoom in' })
    for (let i = 0; i < 4; i++) await zoomIn.click()
    await expect.poll(() => hiddenNodes(page), SOON).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Arrange' }).click()
    await expect.poll(() => hiddenNodes(page), SOON).toBe(0)
  })

  it('stays where it is when a node is added, which appears in it', async () => {
    const page = await openDefinition('Steady', longGraph(12))
    await page.locator('.react-flow__node').first().waitFor()
    const zoomIn = page.getByRole('button', { name: 'Zoom in' })
    for (let i = 0; i < 4; i++) await zoomIn.click()
    await page.waitForTimeout(500)
    const before = await viewOf(page)
    const hidden = await hiddenNodes(page)
    await page.getByRole('button', { name: 'Sink', exact: true }).click()
    await expect.poll(() => page.locator('.react-flow__node').count(), SOON).toBe(13)
    await page.waitForTimeout(500)
    expect(await viewOf(page)).toBe(before)
    expect(await hiddenNodes(page)).toBe(hidden)
  })

  it('of an empty graph offers nothing to run', async () => {
    const page = await openDefinition('Empty', { nodes: [], edges: [] })
    await page.getByText('No nodes yet').waitFor()
    expect(await page.getByText('Run this version').count()).toBe(0)
  })
})
