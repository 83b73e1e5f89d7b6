/* Reads digits that come over a serial line: a line of 1568 hexadecimal digits, two for each of the 28 x 28 pixels, white on
   black, is answered by the digit and how sure the model is, "7 99 %". The line "quit" ends the program in QEMU. */
#include "digits.h"
#include "serial.h"

#define PIXELS DIGITS_IMAGE_COUNT

static void say(const char* text) {
  for (; *text; ++text) serial_put(*text);
}

static int nibble(int c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The same as Kiln's ImageBatcher::normalized(): the mean and the deviation of MNIST's pixels. */
static float normalised(int byte) { return ((float)byte / 255.0f - 0.1307f) / 0.3081f; }

enum Line { PICTURE, QUIT, EMPTY, WRONG };

/* Reads a line to its end, whatever stands in it. */
static enum Line read_line(float* image) {
  static const char quit[] = "quit";
  int count = 0, high = 0, wrong = 0, as_quit = 1;
  for (;;) {
    const int c = serial_get();
    if (c == '\r') continue;
    if (c == '\n') break;
    as_quit = as_quit && count < 4 && c == quit[count];
    wrong = wrong || nibble(c) < 0 || count >= 2 * PIXELS;
    if (!wrong && count % 2) image[count / 2] = normalised(high * 16 + nibble(c));
    if (!wrong) high = nibble(c);
    if (count < 2 * PIXELS) ++count; /* one more of them is wrong already */
  }
  if (count == 0) return EMPTY;
  if (count == 4 && as_quit) return QUIT;
  return wrong || count != 2 * PIXELS ? WRONG : PICTURE;
}

static void answer(const float* chances) {
  int best = 0, i, percent;
  char text[8];
  for (i = 1; i < DIGITS_CHANCES_COUNT; ++i)
    if (chances[i] > chances[best]) best = i;
  percent = (int)(chances[best] * 100.0f + 0.5f);
  text[0] = (char)('0' + best);
  text[1] = ' ';
  text[2] = percent >= 100 ? '1' : (char)('0' + percent / 10);
  text[3] = percent >= 100 ? '0' : (char)('0' + percent % 10);
  text[4] = percent >= 100 ? '0' : ' ';
  text[5] = percent >= 100 ? ' ' : '%';
  text[6] = percent >= 100 ? '%' : 0;
  text[7] = 0;
  say(text);
  say("\n");
}

int main(void) {
  static float image[PIXELS], chances[DIGITS_CHANCES_COUNT];
  serial_begin();
  say("ready\n");
  for (;;) {
    switch (read_line(image)) {
      case EMPTY: break;
      case QUIT: serial_end(); break;
      case WRONG: say("wrong: a picture is a line of 1568 hexadecimal digits\n"); break;
      case PICTURE:
        if (digits_run(image, chances)) say("wrong: the model failed\n");
        else answer(chances);
    }
  }
}
