#import <Foundation/Foundation.h>
#define LIMIT 30
#define DOUBLE(x) ((x) * 2)

typedef int Price;

struct Point {
    int across;
    int down;
};

enum Color {
    Red,
    Green,
};

static int counter = 0;

@protocol Visitor
- (void)arriveAt:(int)door;
@end

@interface Shop : NSObject
@property (nonatomic) int stock;
- (int)total;
@end

@implementation Shop
- (int)total {
    counter = counter + 1;
    return counter;
}
- (void)sell:(int)item to:(int)guest {
    NSLog(@"sold");
}
@end

@implementation Shop (Night)
- (void)closeUp {
    NSLog(@"closed");
}
@end

int ring_bell(int times) {
    return DOUBLE(times);
}
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
//
// Nothing is named here.
