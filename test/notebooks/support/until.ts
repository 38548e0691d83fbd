/** Waits until something is so; a test that waits in vain fails by its own time limit, naming what it waited for. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 1500; i++) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`in vain: ${isSo.toString()}`)
}
