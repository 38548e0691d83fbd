/** A decision not to wait for a window. */
export interface WindowOverride {
  readonly by: string
  readonly reason: string
  readonly at: string
}
