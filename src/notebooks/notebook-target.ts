/** Where a user's notebook server is. */
export interface NotebookTarget {
  /** `http://host:port`, without a path: the path is `notebookBasePath(user)` on both sides of the proxy. */
  readonly baseUrl: string
  /** The server's own token, for `Authorization: token …`; it never goes to a browser. */
  readonly token: string
  /** Whether the server answers; false while the pod starts. */
  readonly ready: boolean
}

/** What the proxy knows of notebooks; answers come from memory, so that a request costs no call to the cluster. */
export interface NotebookTargets {
  /**
   * The user's notebook; undefined when there is none, or no cluster. Throws `CLUSTER_UNAVAILABLE` when the cluster
   * has to be asked and does not answer.
   */
  targetOf(user: string, signal?: AbortSignal): Promise<NotebookTarget | undefined>
  /**
   * Somebody is at work: to be called for requests other than GET and HEAD, and for messages that the browser sends
   * over a WebSocket. What an open tab does by itself (GETs, answers, pings) is no work, or a forgotten tab would keep
   * its notebook for ever. Cheap enough for every message.
   */
  touched(user: string): void
}
