/**
 * Path of the host below which the service answers, such as `/lake`; empty for the whole host. Built scripts are in its
 * folder `assets`.
 */
export const BASE_PATH: string = import.meta.env.PROD
  ? new URL(/* @vite-ignore */ '..', import.meta.url).pathname.replace(/\/$/, '')
  : ''

/** The address of a path of the service or of the page, such as `/api/tables`. */
export function serviceAddress(path: string): string {
  return `${BASE_PATH}${path}`
}

/** A path of the browser's address as the routes of the page name it. */
export function pagePath(path: string): string {
  return path.startsWith(`${BASE_PATH}/`) ? path.slice(BASE_PATH.length) : path
}
