import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { openBrowser, visit, type Visit, type VisitOptions } from './browser.ts'
import { type House, type HouseOptions, startHouse } from './house.ts'

/** A house and a browser for the tests of one file. */
export interface Journey {
  readonly house: House
  /** A separate window, signed in with the token of a user; by default that of the first lead. */
  signIn(token?: string, options?: VisitOptions): Promise<Page>
  /** The same, on the list of tables. */
  openTables(): Promise<Page>
  /** A window that is not signed in. */
  arrive(options?: VisitOptions): Promise<Page>
}

/**
 * Starts a house before the tests of a `describe`, and stops it after them. Windows are closed after each test,
 * which fails when the browser logged a problem.
 */
export function useJourney(options: () => Promise<HouseOptions> | HouseOptions = () => ({})): Journey {
  let house: House | undefined
  let browser: Browser | undefined
  const visits: Visit[] = []
  beforeAll(async () => {
    house = await startHouse(await options())
    browser = await openBrowser()
  })
  afterEach(async () => {
    const heard = visits.flatMap(({ complaints }) => complaints)
    await Promise.all(visits.splice(0).map(({ close }) => close()))
    expect(heard).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await house?.close()
  })
  const started = (): House => {
    if (house === undefined) throw new Error('the house is not started')
    return house
  }
  const arrive: Journey['arrive'] = async (look) => {
    if (browser === undefined) throw new Error('the browser is not started')
    const opened = await visit(browser, look)
    visits.push(opened)
    return opened.page
  }
  const signIn: Journey['signIn'] = async (token = started().token, look = {}) => {
    const page = await arrive(look)
    await page.goto(`${started().url}/#token=${token}`)
    await page.waitForURL(started().start)
    return page
  }
  return {
    get house() {
      return started()
    },
    arrive,
    signIn,
    async openTables() {
      const page = await signIn()
      await page.goto(`${started().url}/tables`)
      return page
    },
  }
}
