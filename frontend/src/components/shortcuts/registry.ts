/** Keys that do something, and what they do. */
export interface Shortcut {
  /** Keys as `useHotkeys` of Mantine writes them, such as `mod+K`; each of them does the same. */
  readonly keys: readonly string[]
  readonly label: string
}

/** The shortcuts of one place of the page. */
export interface ShortcutGroup {
  /** Title of the group, such as `In lists`. */
  readonly place: string
  readonly shortcuts: readonly Shortcut[]
}

type Listener = () => void

/** The shortcuts of the components that are on the page now. */
class ShortcutRegistry {
  readonly #registered = new Set<ShortcutGroup>()
  readonly #listeners = new Set<Listener>()
  #groups: readonly ShortcutGroup[] = []

  /** One group for each place, in the order of their registration; keys that do the same are one shortcut. */
  readonly groups = (): readonly ShortcutGroup[] => this.#groups

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Lists shortcuts until the returned function is called. */
  register(group: ShortcutGroup): () => void {
    this.#registered.add(group)
    this.#update()
    return () => {
      this.#registered.delete(group)
      this.#update()
    }
  }

  #update(): void {
    const places = new Map<string, Map<string, Shortcut>>()
    for (const { place, shortcuts } of this.#registered) {
      const known = places.get(place) ?? new Map<string, Shortcut>()
      for (const { label, keys } of shortcuts) {
        known.set(label, { label, keys: [...new Set([...(known.get(label)?.keys ?? []), ...keys])] })
      }
      places.set(place, known)
    }
    this.#groups = [...places].map(([place, known]) => ({ place, shortcuts: [...known.values()] }))
    for (const listener of this.#listeners) listener()
  }
}

/** The shortcuts of the page, for its help. */
export const shortcutRegistry = new ShortcutRegistry()
