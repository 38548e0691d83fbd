import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { NODE_SIZE } from '../../../frontend/src/components/graph/graph.ts'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const SOON = { timeout: 60_000 }

/** A long chain of filters in one line: wider than any screen at full size. */
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

/** The same chain in rows of ten. */
function gridGraph(count: number) {
  const { nodes, edges } = longGraph(count)
  const place = (at: number) => ({ x: (at % 10) * 240, y: Math.floor(at / 10) * 110 })
  return { nodes: nodes.map((node, at) => ({ ...node, position: place(at) })), edges }
}

interface DrawingRecord {
  /** How many nodes were added to the page at once, for each time. */
  readonly added: readonly number[]
  readonly transitions: number
}

/** Records how the nodes of the pages that are opened afterwards are drawn. */
async function recordDrawing(page: Page): Promise<() => Promise<DrawingRecord>> {
  await page.addInitScript(`
    globalThis.drawing = { added: [], transitions: 0 }
    addEventListener('transitionrun', () => drawing.transitions++)
    new MutationObserver((records) => {
      const added = records.flatMap(({ addedNodes }) => [...addedNodes])
      const count = added.filter((node) => node.classList?.contains('react-flow__node')).length
      if (count > 0) drawing.added.push(count)
    }).observe(document, { childList: true, subtree: true })`)
  return () => page.evaluate<DrawingRecord>('drawing')
}

/** The largest distance between an end of an edge and the handle that it belongs to, pixels. */
function largestGap(page: Page): Promise<number> {
  return page.evaluate<number>(`Math.max(...[...document.querySelectorAll('.react-flow__edge')].flatMap((edge) => {
    const [from, to] = edge.dataset.id.slice(1).split('-')
    const path = edge.querySelector('.react-flow__edge-path')
    const at = (length) => path.getPointAtLength(length).matrixTransform(path.getScreenCTM())
    const handle = (id, type) =>
      document.querySelector('.react-flow__node[data-id="' + id + '"] .react-flow__handle.' + type).getBoundingClientRect()
    const gap = (point, x, { top, bottom }) => Math.hypot(point.x - x, point.y - (top + bottom) / 2)
    const [source, target] = [handle(from, 'source'), handle(to, 'target')]
    return [gap(at(0), source.right, source), gap(at(path.getTotalLength()), target.left, target)]
  }))`)
}

const viewOf = (page: Page): Promise<string | null> => page.locator('.react-flow__viewport').getAttribute('style')

/** The number of nodes that are not fully on the canvas. */
function hiddenNodes(page: Page): Promise<number> {
  return page.evaluate<number>(`(() => {
    const canvas = document.querySelector('.react-flow').getBoundingClientRect()
    return [...document.querySelectorAll('.react-flow__node')].filter((node) => {
      const { left, top, right, bottom } = node.getBoundingClientRect()
      return left < canvas.left - 1 || top < canvas.top - 1 || right > canvas.right + 1 || bottom > canvas.bottom + 1
    }).length
  })()`)
}

describe.skipIf(chromiumPath === undefined)('the canvas of the designer', () => {
  const journey = useJourney()

  async function openDefinition(name: string, graph: object): Promise<Page> {
    const page = await journey.signIn(undefined, { size: { width: 1280, height: 720 } })
    const { definition } = await journey.house.call('POST', '/api/pipeline-defs', { name, description: '', ...graph })
    await page.goto(`${journey.house.url}/definitions/${definition.id}`)
    await page.getByRole('button', { name: 'Validate' }).waitFor()
    return page
  }

  it('shows the result of a validation, with every problem reachable', async () => {
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

  it('shows the answer of a validation that the graph was saved during', async () => {
    const page = await openDefinition('Saved meanwhile', longGraph(3))
    const { promise: isSaved, resolve: release } = Promise.withResolvers<void>()
    await page.route('**/validate?*', async (route) => {
      await isSaved
      await route.continue()
    })
    await page.getByRole('button', { name: 'Sink', exact: true }).click()
    await page.getByText('Unsaved changes').waitFor()
    await page.getByRole('button', { name: 'Validate' }).click()
    await page.getByRole('button', { name: 'Save as new version' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save as new version' }).click()
    await page.waitForURL(/version=/)
    const version = page.getByRole('combobox', { name: 'Version', exact: true })
    await expect.poll(() => version.locator('option:checked').textContent(), SOON).toMatch(/^v2/)
    release()
    const result = page.getByRole('region', { name: 'Validation' })
    await result.getByText(/^Invalid: /).waitFor()
    expect(await result.getByText('The graph has changed since validation.').count()).toBe(0)
    await version.selectOption({ index: 1 })
    await expect.poll(() => result.getByText(/^Invalid: /).count(), SOON).toBe(0)
    await expect.poll(() => page.locator('.react-flow__node').count(), SOON).toBe(3)
    await version.selectOption({ index: 0 })
    await expect.poll(() => page.locator('.react-flow__node').count(), SOON).toBe(4)
  })

  it('renders a large graph with all its edges, and shows all of it', async () => {
    const page = await openDefinition('Large', gridGraph(60))
    await expect.poll(() => page.locator('.react-flow__node').count(), SOON).toBe(60)
    await expect.poll(() => page.locator('.react-flow__edge').count(), SOON).toBe(59)
    expect(await hiddenNodes(page)).toBe(0)
    // The node size that the canvas assumes, so that it need not measure the nodes.
    const sizes = await page.evaluate<unknown>(
      `[...document.querySelectorAll('.react-flow__node')].map((node) => node.offsetWidth + ' × ' + node.offsetHeight)`,
    )
    expect(sizes).toEqual(Array.from({ length: 60 }, () => `${NODE_SIZE.width} × ${NODE_SIZE.height}`))
  })

  it('draws a large graph a few nodes at a time, each once, and without transitions', async () => {
    const page = await openDefinition('First', gridGraph(2))
    const drawing = await recordDrawing(page)
    const { definition } = await journey.house.call('POST', '/api/pipeline-defs', {
      name: 'In steps',
      description: '',
      ...gridGraph(60),
    })
    await page.goto(`${journey.house.url}/definitions/${definition.id}`)
    await expect.poll(() => page.locator('.react-flow__edge').count(), SOON).toBe(59)
    const { added, transitions } = await drawing()
    expect(Math.max(...added)).toBeLessThanOrEqual(8)
    expect(added.reduce((sum, count) => sum + count, 0)).toBe(60)
    expect(transitions).toBe(0)
  })

  it('draws edges from handle to handle, and connects nodes by dragging', async () => {
    const { nodes } = gridGraph(3)
    const edges = [{ id: 'en0-n1', source: 'n0', target: 'n1' }]
    const page = await openDefinition('Handles', { nodes, edges })
    await expect.poll(() => page.locator('.react-flow__edge').count(), SOON).toBe(1)
    expect(await largestGap(page)).toBeLessThan(1)
    const handleOf = (id: string, type: string) => page.locator(`.react-flow__node[data-id="${id}"] .${type}`)
    await handleOf('n1', 'source').dragTo(handleOf('n2', 'target'))
    await expect.poll(() => page.locator('.react-flow__edge').count(), SOON).toBe(2)
  })

  it('arranges a graph without positions, and does not count this as a change', async () => {
    const { nodes, edges } = longGraph(12)
    const page = await openDefinition('No positions', {
      nodes: nodes.map((node) => ({ ...node, position: { x: 0, y: 0 } })),
      edges,
    })
    await expect.poll(() => page.locator('.react-flow__node').count(), SOON).toBe(12)
    const positions = await page.evaluate<number>(
      `new Set([...document.querySelectorAll('.react-flow__node')].map(({ style }) => style.transform)).size`,
    )
    expect(positions).toBe(12)
    await expect.poll(() => hiddenNodes(page), SOON).toBe(0)
    expect(await page.getByRole('button', { name: 'Save as new version' }).isDisabled()).toBe(true)
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

  it('does not move when a node is added, and the node appears inside it', async () => {
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

  it('has no run button for an empty graph', async () => {
    const page = await openDefinition('Empty', { nodes: [], edges: [] })
    await page.getByText('No nodes yet').waitFor()
    expect(await page.getByText('Run this version').count()).toBe(0)
  })
})
