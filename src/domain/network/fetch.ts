/** What every runtime's `fetch` can be called with; `typeof fetch` has extra members under Bun's types. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** The request that `fetch(input, init)` would send. Throws `TypeError` for an invalid URL or method. */
export function toRequest(input: string | URL | Request, init?: RequestInit): Request {
  return input instanceof Request ? new Request(input, init) : new Request(input.toString(), init)
}
