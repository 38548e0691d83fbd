/** A page of a list that is ordered by one unique key. */
export interface KeyPageRequest<K extends string | number = string> {
  /** At most this many items; stores return one more when there are more. */
  readonly limit: number
  /** Items after the one with this key; default: from the start. */
  readonly after?: K | undefined
}
