/** A name or address leads to a place that the service must not connect to. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError'
}
