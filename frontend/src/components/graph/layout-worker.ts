import { type LayoutRequest, layOut } from './layout.ts'

/** Runs in a worker thread: answers each request with the positions of its nodes. */
globalThis.addEventListener('message', ({ data }: MessageEvent<LayoutRequest>) => {
  globalThis.postMessage(layOut(data))
})
