import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { openBrowser, visit, type Visit, type VisitOptions } from './browser.ts'
import { type House, type HouseOptions, startHouse } from './house.ts'

/** How a window is signed in. */
export interface SignInOptions extends VisitOptions {
  /** The page to open, with a session that is there already; default: a link with the token, which leads to the start page. */
  readonly at?: string
}

/** A house and a browser for the tests of one file. */
export interface Journey {
  readonly house: House
  /** A separate window, signed in with the token of a user; by default that of the first lead. */
  signIn(token?: string, options?: SignInOptions): Promise<Page>
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
  const signIn: Journey['signIn'] = async (token = started().token, { at, ...look } = {}) => {
    const page = await arrive(look)
    const { url, start } = started()
    if (at === undefined) {
      await page.goto(`${url}/#token=${token}`)
      await page.waitForURL(start)
    } else {
      const { status } = await openSession(page, url, token)
      expect(status, 'sign-in').toBe(201)
      await page.goto(url + at)
    }
    return page
  }
  return {
    get house() {
      return started()
    },
    arrive,
    signIn,
    openTables: () => signIn(undefined, { at: '/tables' }),
  }
}

/** Gives the browser of a page a session, as the sign-in page does. */
async function openSession(page: Page, url: string, token: string): Promise<{ readonly status: number }> {
  const answer = await page
    .context()
    .request.post(`${url}/api/auth/session`, { data: { token }, headers: { Origin: url } })
  return { status: answer.status() }
}
