import { autocompletion, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { PostgreSQL, sql as sqlLanguage } from '@codemirror/lang-sql'
import { bracketMatching, syntaxHighlighting } from '@codemirror/language'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, highlightSpecialChars, keymap, placeholder } from '@codemirror/view'
import { Input } from '@mantine/core'
import { useEffect, useId, useRef } from 'react'
import { useShortcutHelp } from '../../../components/shortcuts/use-shortcuts.ts'
import { shortcuts } from '../../../strings/everywhere/shortcuts.ts'
import { queryStrings as words } from '../../../strings/query.ts'
import { completeKeywords, completeNames } from './complete-names.ts'
import type { SqlFieldProps } from './editor-props.ts'
import { COLORS, LOOK } from './editor-look.ts'

/** A field for SQL that completes tables and columns. Tab leaves it, Escape closes the list, and Ctrl+Space opens it. */
export function SqlEditor({ sql, onChange, onKeyDown }: SqlFieldProps) {
  const holder = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const changed = useRef(onChange)
  const first = useRef(sql)
  const id = useId()
  useShortcutHelp(shortcuts.query.place, KEYS)
  useEffect(() => {
    changed.current = onChange
  })

  useEffect(() => {
    if (holder.current === null) return undefined
    const extensions = [
      ...EXTENSIONS,
      EditorView.contentAttributes.of({ 'aria-label': words.sql, 'aria-describedby': id, id: `${id}-text` }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) changed.current(state.doc.toString())
      }),
    ]
    const made = new EditorView({
      parent: holder.current,
      state: EditorState.create({ doc: first.current, extensions }),
    })
    view.current = made
    return () => made.destroy()
  }, [id])

  useEffect(() => {
    const { current } = view
    const now = current?.state.doc.toString()
    if (current === undefined || now === sql) return
    first.current = sql
    current.dispatch({ changes: { from: 0, to: now?.length ?? 0, insert: sql } })
  }, [sql])

  return (
    <div>
      <Input.Label labelElement="div" onClick={() => view.current?.focus()}>
        {words.sql}
      </Input.Label>
      <Input.Description id={id} mb={4}>
        {words.keys}
      </Input.Description>
      {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- the text box is inside */}
      <div ref={holder} onKeyDown={onKeyDown} />
    </div>
  )
}

const KEYS = [
  { keys: ['Ctrl+Space'], label: shortcuts.query.complete },
  { keys: ['Tab'], label: shortcuts.query.leave },
]

/** Ctrl+Enter runs the query: it must not insert a line. */
const EDITING_KEYS = defaultKeymap.filter(({ key }) => key !== 'Mod-Enter')

/** So few that their list does not scroll: the focus stays in the editor, so a list that scrolls could not be reached. */
const MAX_OPTIONS = 10

const EXTENSIONS: readonly Extension[] = [
  sqlLanguage({ dialect: PostgreSQL }),
  autocompletion({ override: [completeNames, completeKeywords], icons: false, maxRenderedOptions: MAX_OPTIONS }),
  history(),
  highlightSpecialChars(),
  bracketMatching(),
  syntaxHighlighting(COLORS),
  EditorView.lineWrapping,
  LOOK,
  placeholder(words.placeholder),
  keymap.of([...completionKeymap, ...historyKeymap, ...EDITING_KEYS]),
]
