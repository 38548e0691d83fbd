/** Where a user's notebook server is. */
export interface NotebookTarget {
  /** `http://host:port`, without a path: the path is `notebookBasePath(user)` on both sides of the proxy. */
  readonly baseUrl: string
  /** The server's own token, for `Authorization: token …`; it never goes to a browser. */
  readonly token: string
  /** Whether the server answers; false while the pod starts. */
  readonly ready: boolean
}

/** Locations of notebooks for the proxy, answered from memory, so that a request needs no call to the cluster. */
export interface NotebookTargets {
  /**
   * The user's notebook; undefined when there is none, or no cluster. Throws `CLUSTER_UNAVAILABLE` when the cluster has
   * to be called and does not answer.
   */
  targetOf(user: string, signal?: AbortSignal): Promise<NotebookTarget | undefined>
  /**
   * Records activity of the user. Call it for requests other than GET and HEAD, and for messages that the browser sends
   * over a WebSocket. What an open tab sends by itself (GETs, responses, pings) does not count, or a forgotten tab
   * would keep its notebook running forever. Cheap enough for every message.
   */
  touched(user: string): void
}
