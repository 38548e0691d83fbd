import { Modal } from '@mantine/core'
import { Fragment, useSyncExternalStore } from 'react'
import { type Shortcut, shortcutRegistry } from '../../components/shortcuts/registry.ts'
import { shortcuts as words } from '../../strings/everywhere/shortcuts.ts'
import classes from './shortcut-help.module.css'
import { hideShortcuts } from './shortcut-store.ts'

const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.platform)

/** All shortcuts that work on the page now, by place. */
export function ShortcutHelp() {
  const groups = useSyncExternalStore(shortcutRegistry.subscribe, shortcutRegistry.groups)
  return (
    <Modal opened onClose={hideShortcuts} title={words.title}>
      {groups.map(({ place, shortcuts }) => (
        <section key={place} className={classes.group}>
          <h3>{place}</h3>
          <dl className={classes.list}>
            {shortcuts.map((shortcut) => (
              <Fragment key={shortcut.label}>
                <dt>{shortcut.label}</dt>
                <dd>
                  <Keys keys={shortcut.keys} />
                </dd>
              </Fragment>
            ))}
          </dl>
        </section>
      ))}
    </Modal>
  )
}

function Keys({ keys }: Pick<Shortcut, 'keys'>) {
  return keys.map((key, at) => (
    <Fragment key={key}>
      {at > 0 && ` ${words.or} `}
      {key.split('+').map((part, place) => (
        <Fragment key={part}>
          {place > 0 && ' + '}
          <kbd className={classes.key}>{nameOf(part)}</kbd>
        </Fragment>
      ))}
    </Fragment>
  ))
}

function nameOf(key: string): string {
  if (key === 'mod') return IS_APPLE ? words.modOfApple : words.mod
  return words.keys[key] ?? key
}
