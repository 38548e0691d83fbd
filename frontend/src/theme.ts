import {
  createTheme,
  type CSSVariablesResolver,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  type VariantColorsResolver,
} from '@mantine/core'
import { common } from './strings/everywhere/common.ts'

/** The accent color. Shade 7 has enough contrast for white text on light pages, shade 4 for dark text on dark pages. */
const WATER: MantineColorsTuple = [
  '#e6f5f8',
  '#cbe9ef',
  '#9fd6e1',
  '#6fc2d1',
  '#43aec0',
  '#2196aa',
  '#0f7f93',
  '#0b6e7f',
  '#095b69',
  '#064650',
]

const GRAY: MantineColorsTuple = [
  '#f7f8f9',
  '#eff1f3',
  '#e5e8eb',
  '#d6dbdf',
  '#c1c8ce',
  '#8b959e',
  '#5c6670',
  '#48525b',
  '#2f373e',
  '#1b2126',
]

const DARK: MantineColorsTuple = [
  '#dde2e6',
  '#bcc4cb',
  '#9ba5ae',
  '#74808a',
  '#363f47',
  '#272e35',
  '#1d2329',
  '#15191d',
  '#101417',
  '#0b0e10',
]

const TITLE = { title: { fontWeight: 600, fontSize: '1rem' } } as const
const CLOSE = { closeButtonProps: { 'aria-label': common.close } } as const
const COMPACT = { defaultProps: { size: 'xs' } } as const

/** The text on the accent follows the scheme: white on the dark shade of light pages, dark on the light one of dark pages. */
const variantColors: VariantColorsResolver = (input) => {
  const colors = defaultVariantColorsResolver(input)
  const onAccent = input.variant === 'filled' && (input.color === undefined || input.color === 'water')
  return onAccent ? { ...colors, color: 'var(--lh-on-accent)' } : colors
}

/** Dense layout: 13 px text, small radii, tabular figures. */
export const theme = createTheme({
  primaryColor: 'water',
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  respectReducedMotion: true,
  variantColorResolver: variantColors,
  colors: { water: WATER, gray: GRAY, dark: DARK },
  black: '#1b2126',
  defaultRadius: 'sm',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.25rem', lineHeight: '1.4' },
      h2: { fontSize: '1rem', lineHeight: '1.5' },
      h3: { fontSize: '0.875rem', lineHeight: '1.5' },
    },
  },
  components: {
    Button: {
      defaultProps: { size: 'xs' },
      styles: { label: { fontWeight: 500 } },
      // The smallest button has the minimum target height (WCAG 2.2, 2.5.8).
      vars: (_theme: unknown, { size }: { readonly size?: unknown }) => ({
        root: size === 'compact-xs' ? { '--button-height': '1.5rem' } : {},
      }),
    },
    TextInput: COMPACT,
    PasswordInput: COMPACT,
    NumberInput: COMPACT,
    Select: COMPACT,
    NativeSelect: COMPACT,
    MultiSelect: COMPACT,
    TagsInput: COMPACT,
    Textarea: COMPACT,
    Checkbox: COMPACT,
    Switch: COMPACT,
    SegmentedControl: COMPACT,
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    Modal: { defaultProps: { centered: true, ...CLOSE }, styles: TITLE },
    Drawer: { defaultProps: CLOSE, styles: TITLE },
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Portal: { defaultProps: { target: '#overlays' } },
    Notification: { defaultProps: CLOSE },
  },
})

/** Tokens of both schemes; each text colour has at least 4.5:1 on the body and on `surface` (WCAG 2.2, 1.4.3). */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5c6670',
    '--mantine-color-placeholder': '#69737d',
    '--mantine-color-error': '#b42323',
    '--mantine-color-anchor': '#0b6e7f',
    '--mantine-color-default-border': '#c1c8ce',
    '--lh-ok': '#18733f',
    '--lh-warn': '#8a5a00',
    '--lh-bad': '#b42323',
    '--lh-warn-fill': '#c27c00',
    '--lh-accent': '#0b6e7f',
    '--lh-on-accent': '#ffffff',
    '--lh-accent-soft': '#e6f5f8',
    '--lh-surface': '#f7f8f9',
    '--lh-hover': '#eff1f3',
    '--lh-border': '#e0e4e8',
    '--lh-border-strong': '#8b959e',
  },
  dark: {
    '--mantine-color-dimmed': '#9ba5ae',
    '--mantine-color-placeholder': '#8d98a2',
    '--mantine-color-error': '#ff8a80',
    '--mantine-color-anchor': '#5cc0d0',
    '--lh-ok': '#52c58d',
    '--lh-warn': '#e3ab42',
    '--lh-bad': '#ff8a80',
    '--lh-warn-fill': '#e3ab42',
    '--lh-accent': '#5cc0d0',
    '--lh-on-accent': '#0b0e10',
    '--lh-accent-soft': '#12343b',
    '--lh-surface': '#1a1f24',
    '--lh-hover': '#20262c',
    '--lh-border': '#2a3138',
    '--lh-border-strong': '#74808a',
  },
})
